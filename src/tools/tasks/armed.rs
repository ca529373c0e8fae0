//! A hook of one running task: what it waits for, and when it is due.

use chrono::{DateTime, Utc};
use regex::Regex;
use tokio::time::Instant;
use tracing::warn;

use crate::store::Hook;
use crate::tools::hooks::{self, HookSpec, Trigger};

/// Matches of one hook that wait for their time at once; a task that prints faster loses the rest.
const MOST_WAITING: usize = 100;

/// A hook that may fire.
pub(super) struct Armed {
    pub(super) id: i64,
    pub(super) spec: HookSpec,
    pattern: Option<Regex>,
    pub(super) last_fired: Option<DateTime<Utc>>,
    pub(super) skipped: u32,
    pub(super) timed_out: bool,
    pub(super) due: Vec<(Instant, String)>,
}

/// Why a hook fires.
#[derive(Clone, Debug)]
pub(super) enum Cause {
    /// The task ended.
    Exit,
    /// It printed this line.
    Match(String),
    /// It runs for too long.
    Timeout,
}

impl Armed {
    /// Arms a hook as the database keeps it; none for one that cannot be read or has fired as often as it may.
    pub(super) fn new(hook: Hook) -> Option<Self> {
        let spec: HookSpec = match serde_json::from_value(hook.hook.spec) {
            Ok(spec) => spec,
            Err(error) => {
                warn!(%error, "hook {} cannot be read", hook.id);
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

    /// Notes when to fire, if it waits for a line like this one.
    pub(super) fn note(&mut self, line: &str, now: Instant) {
        let found = self
            .pattern
            .as_ref()
            .is_some_and(|pattern| pattern.is_match(line));
        if found && self.due.len() < MOST_WAITING {
            self.due.push((now + self.spec.delay(), line.to_owned()));
        }
    }

    /// Whether it fired too short a time ago.
    pub(super) fn is_too_soon(&self, now: DateTime<Utc>) -> bool {
        self.last_fired
            .is_some_and(|last| (now - last).to_std().unwrap_or_default() < self.spec.spacing())
    }

    /// Whether this is what it waits for.
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
