//! A hook of one running task: its condition, and when it is due.

use std::time::Duration;

use chrono::{DateTime, Utc};
use regex::Regex;
use rustix::time::{ClockId, clock_gettime};
use tokio::time::Instant;
use tracing::warn;

use crate::store::Hook;
use crate::tools::hooks::{self, HookSpec, Trigger};

/// Most matches of one hook that may wait at once; if a task prints faster, the rest is lost.
const MOST_WAITING: usize = 100;

/// Processor time for one pattern on the lines of one check, which have 8 MiB at most. An ordinary pattern takes a few
/// milliseconds.
const MAX_PATTERN_TIME: Duration = Duration::from_millis(500);

/// Whether a hook was compared with all lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Noted {
    All,
    /// It took too long, and is no longer compared.
    TooSlow,
}

/// Returns the processor time that this thread has used.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

pub(super) struct Armed {
    pub(super) id: i64,
    pub(super) spec: HookSpec,
    pattern: Option<Regex>,
    pub(super) last_fired: Option<DateTime<Utc>>,
    pub(super) skipped: u32,
    pub(super) timed_out: bool,
    pub(super) due: Vec<(Instant, String)>,
}

#[derive(Clone, Debug)]
pub(super) enum Cause {
    Exit,
    Match(String),
    /// It runs for too long.
    Timeout,
}

impl Armed {
    /// Arms a hook from the database; `None` for one that cannot be read or has fired as often as it may.
    pub(super) fn new(hook: Hook) -> Option<Self> {
        let spec: HookSpec = match serde_json::from_value(hook.hook.spec) {
            Ok(spec) => spec,
            Err(error) => {
                warn!(%error, "failed to read hook {}", hook.id);
                return None;
            }
        };
        let pattern = match &spec.trigger {
            Trigger::OnOutputMatch { pattern } => Some(hooks::pattern(pattern).ok()?),
            Trigger::OnExit { .. } | Trigger::OnTimeout { .. } => None,
        };
        (hook.fires < hook.hook.max_fires).then_some(Self {
            id: hook.id,
            spec,
            pattern,
            last_fired: hook.last_fired,
            skipped: 0,
            timed_out: false,
            due: Vec::new(),
        })
    }

    /// Returns whether it depends on the task's output.
    pub(super) fn reads(&self) -> bool {
        self.pattern.is_some()
    }

    /// Records when to fire for the lines that it waits for. A pattern that takes too long is no longer used.
    pub(super) fn note(&mut self, lines: &[String], now: Instant) -> Noted {
        let Some(pattern) = &self.pattern else {
            return Noted::All;
        };
        let begun = processor_time();
        for line in lines {
            if pattern.is_match(line) && self.due.len() < MOST_WAITING {
                self.due.push((now + self.spec.delay(), line.clone()));
            }
            if processor_time().saturating_sub(begun) > MAX_PATTERN_TIME {
                self.pattern = None;
                return Noted::TooSlow;
            }
        }
        Noted::All
    }

    /// Returns whether its last firing was too recent.
    pub(super) fn is_too_soon(&self, now: DateTime<Utc>) -> bool {
        self.last_fired
            .is_some_and(|last| (now - last).to_std().unwrap_or_default() < self.spec.spacing())
    }

    /// Returns whether this is the cause that it waits for.
    pub(super) fn means(&self, cause: &Cause, exit_code: Option<i32>) -> bool {
        match (&self.spec.trigger, cause) {
            (Trigger::OnExit { exit_filter }, Cause::Exit) => exit_filter.admits(exit_code),
            (Trigger::OnOutputMatch { .. }, Cause::Match(_))
            | (Trigger::OnTimeout { .. }, Cause::Timeout) => true,
            (Trigger::OnExit { .. }, Cause::Match(_) | Cause::Timeout)
            | (Trigger::OnOutputMatch { .. }, Cause::Exit | Cause::Timeout)
            | (Trigger::OnTimeout { .. }, Cause::Exit | Cause::Match(_)) => false,
        }
    }
}
