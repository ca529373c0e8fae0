//! The progress of a long command: one line on a terminal, overwritten each time; nothing elsewhere.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use super::output;

/// Time between two updates: faster ones cannot be read.
const INTERVAL: Duration = Duration::from_millis(100);

/// The line, which is erased when this is dropped.
pub(super) struct Progress {
    /// Whether a person sees the line: not in a file or a pipe, and a dumb terminal cannot erase it.
    is_watched: bool,
    is_shown: bool,
    /// When a step of this stage was last shown.
    stepped: Option<Instant>,
}

impl Progress {
    pub(super) fn new() -> Self {
        Self {
            is_watched: io::stderr().is_terminal()
                && std::env::var_os("TERM").is_some_and(|terminal| terminal != "dumb"),
            is_shown: false,
            stepped: None,
        }
    }

    /// Shows the current work.
    pub(super) fn stage(&mut self, what: &str) {
        self.stepped = None;
        self.show(what);
    }

    /// Works like [`Self::stage`] for frequent changes: shown only now and then.
    pub(super) fn step(&mut self, what: impl FnOnce() -> String) {
        let is_due = self
            .stepped
            .is_none_or(|stepped| stepped.elapsed() >= INTERVAL);
        if self.is_watched && is_due {
            self.stepped = Some(Instant::now());
            self.show(&what());
        }
    }

    /// Erases the line, so that other output can be printed.
    pub(super) fn clear(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            output::tell(format_args!("\r\x1b[K"));
            let _ = io::stderr().flush();
        }
    }

    fn show(&mut self, line: &str) {
        if self.is_watched {
            output::tell(format_args!("\r\x1b[K{line} …"));
            let _ = io::stderr().flush();
            self.is_shown = true;
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}
