//! Hooks of one running task: when each is due, and that none fires more often than it may.

use chrono::{DateTime, Utc};
use regex::Regex;
use tokio::time::Instant;
use tracing::warn;

use super::watch::Watch;
use super::{TaskEffect, text};
use crate::clock;
use crate::store::Hook;
use crate::tools::hooks::{self, HookAction, HookSpec, Trigger};

/// Matches of one hook that wait for their time at once; a task that prints faster loses the rest.
const MOST_WAITING: usize = 100;

/// Lines of output that come with a match.
const AFTER_MATCH: usize = 20;

/// Lines of output that come with an end or a timeout.
const AT_END: usize = 30;

/// Lines of output in a notice for people.
const IN_NOTICE: usize = 5;

/// A hook that may fire.
pub(super) struct Armed {
    id: i64,
    spec: HookSpec,
    pattern: Option<Regex>,
    last_fired: Option<DateTime<Utc>>,
    skipped: u32,
    timed_out: bool,
    due: Vec<(Instant, String)>,
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

    fn is_too_soon(&self, now: DateTime<Utc>) -> bool {
        self.last_fired
            .is_some_and(|last| (now - last).to_std().unwrap_or_default() < self.spec.spacing())
    }

    fn means(&self, cause: &Cause, exit_code: Option<i32>) -> bool {
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

impl Watch {
    /// Notes which hooks wait for a line like this one.
    pub(super) fn note_matches(&mut self, line: &str) {
        let now = Instant::now();
        for hook in &mut self.hooks {
            let found = hook
                .pattern
                .as_ref()
                .is_some_and(|pattern| pattern.is_match(line));
            if found && hook.due.len() < MOST_WAITING {
                hook.due.push((now + hook.spec.delay(), line.to_owned()));
            }
        }
    }

    /// Fires the matches whose time has come.
    pub(super) async fn fire_due(&mut self, is_due: impl Fn(Instant) -> bool) {
        for index in 0..self.hooks.len() {
            let waiting = std::mem::take(&mut self.hooks[index].due);
            let (due, later): (Vec<_>, Vec<_>) =
                waiting.into_iter().partition(|(time, _)| is_due(*time));
            self.hooks[index].due = later;
            for (_, line) in due {
                self.fire(index, &Cause::Match(line)).await;
            }
        }
    }

    /// Fires the hooks that wait for a task to take too long, each once.
    pub(super) async fn fire_timeouts(&mut self) {
        let runs_for = (clock::now() - self.row.started_at)
            .to_std()
            .unwrap_or_default();
        for index in 0..self.hooks.len() {
            let Trigger::OnTimeout { timeout_seconds } = self.hooks[index].spec.trigger else {
                continue;
            };
            if runs_for.as_secs_f64() >= timeout_seconds && !self.hooks[index].timed_out {
                self.hooks[index].timed_out = true;
                self.fire(index, &Cause::Timeout).await;
            }
        }
    }

    /// Fires every hook that means `cause`.
    pub(super) async fn fire_all(&mut self, cause: Cause) {
        for index in 0..self.hooks.len() {
            if self.hooks[index].means(&cause, self.row.exit_code) {
                self.fire(index, &cause).await;
            }
        }
    }

    /// Fires one hook, unless it is too soon or it has fired as often as it may. Counted before it happens.
    async fn fire(&mut self, index: usize, cause: &Cause) {
        let now = clock::now();
        let hook = &mut self.hooks[index];
        if hook.is_too_soon(now) {
            hook.skipped += 1;
            return;
        }
        match self.tasks.inner.store.fire_hook(hook.id, now).await {
            Ok(Some(_)) => hook.last_fired = Some(now),
            Ok(None) => return,
            Err(error) => {
                warn!(%error, "hook {} did not fire", hook.id);
                return;
            }
        }
        let skipped = std::mem::take(&mut hook.skipped);
        let spec = hook.spec.clone();
        let told = |lines: usize, watch: &Self| {
            text::for_agent(&watch.row, cause, &spec.context_message, &watch.last(lines))
        };
        let lines = match cause {
            Cause::Match(_) => AFTER_MATCH,
            Cause::Exit | Cause::Timeout => AT_END,
        };
        let effect = match spec.action {
            HookAction::StopProcess => return self.kill_by_hook(),
            HookAction::StopBranch => TaskEffect::StopBranch,
            HookAction::NotifyChannel => {
                let last = self.last(IN_NOTICE);
                TaskEffect::Notify(text::notice(&self.row, cause, &spec, skipped, &last))
            }
            HookAction::InjectContext | HookAction::SpawnBranch
                if self.depth() > self.tasks.inner.max_depth =>
            {
                TaskEffect::Notify(text::too_deep(&self.row, cause, self.tasks.inner.max_depth))
            }
            HookAction::InjectContext => TaskEffect::Inject(told(lines, self)),
            HookAction::SpawnBranch => TaskEffect::SpawnBranch(told(lines, self)),
        };
        self.emit(effect).await;
    }
}
