//! The log: for people on a terminal, one JSON object a line elsewhere. No secret gets into it.

use std::io::{self, IsTerminal, Stderr, Write};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::text::redact::Redactor;

/// What is logged when `CHORUS_LOG` says nothing: our own steps, and others' trouble.
const DEFAULT_FILTER: &str = "warn,chorus=info";

/// Starts the log of this process on standard error, redacted. Later calls have no effect.
///
/// `filter` is a list such as `info,chorus::llm=debug`.
///
/// # Errors
///
/// When `filter` is no such list.
pub fn start(filter: Option<&str>, redactor: &Redactor) -> Result<(), String> {
    let filter = EnvFilter::try_new(filter.unwrap_or(DEFAULT_FILTER)).map_err(|error| {
        format!("CHORUS_LOG is no filter: {error}; write one such as info,chorus::llm=debug")
    })?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(Masked(redactor.clone()));
    // Somebody else's log (a test's) stays.
    let _ = if is_for_people() {
        log.compact().with_ansi(true).try_init()
    } else {
        log.json().flatten_event(true).try_init()
    };
    Ok(())
}

/// Standard error is a terminal, and not systemd's journal.
fn is_for_people() -> bool {
    io::stderr().is_terminal() && std::env::var_os("JOURNAL_STREAM").is_none()
}

/// Writes log lines without the secrets in them.
struct Masked(Redactor);

impl<'a> MakeWriter<'a> for Masked {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line {
            redactor: &self.0,
            out: io::stderr(),
        }
    }
}

/// One event, which the subscriber writes whole.
struct Line<'a> {
    redactor: &'a Redactor,
    out: Stderr,
}

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let line = String::from_utf8_lossy(bytes);
        self.out.write_all(self.redactor.redact(&line).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
