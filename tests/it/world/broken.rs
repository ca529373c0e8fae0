//! A daemon in which something panics: where it would write a certain line to its log.

use std::fmt::{Debug, Write as _};
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Metadata, Subscriber, dispatcher};

/// Lines of a log, shared with whoever reads them.
pub(super) type Lines = Arc<Mutex<Vec<String>>>;

/// Panics in the first task that would write a line with these words.
pub(super) struct BreaksAt {
    words: &'static str,
    has_broken: AtomicBool,
    /// What else is written.
    lines: Lines,
}

impl BreaksAt {
    pub(super) fn new(words: &'static str, lines: Lines) -> Self {
        Self {
            words,
            has_broken: AtomicBool::new(false),
            lines,
        }
    }

    /// What each thread of a runtime begins with, so that other daemons of the process stay whole.
    pub(super) fn on_each_thread(self) -> impl Fn() + Send + Sync + 'static {
        let log = Dispatch::new(self);
        move || mem::forget(dispatcher::set_default(&log))
    }
}

impl Subscriber for BreaksAt {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        if line.0.contains(self.words) && !self.has_broken.swap(true, Ordering::AcqRel) {
            panic!("a test has it panic at: {}", line.0);
        }
        self.lines.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The words of an event.
struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            let _ = write!(self.0, "{value:?}");
        }
    }
}
