//! Fires the hooks of one running task, and none more often than allowed.

use tokio::time::Instant;
use tracing::warn;

use super::armed::{Armed, Cause, Noted};
use super::event::TaskEffect;
use super::text;
use super::watch::Watch;
use crate::clock;
use crate::tools::hooks::{HookAction, Trigger};

/// Most lines of output that come with a match.
const AFTER_MATCH: usize = 20;

/// Most lines of output that come with an end or a timeout.
const AT_END: usize = 30;

/// Most lines of output in a notice for people.
const IN_NOTICE: usize = 5;

impl Watch {
    /// Records which hooks wait for one of these lines, and returns the lines. A small model wrote the patterns, and
    /// the task wrote the lines. So they are matched off the async threads, and a pattern that takes too long is given
    /// up.
    pub(super) async fn note_matches(&mut self, lines: Vec<String>) -> Vec<String> {
        if lines.is_empty() || !self.hooks.iter().any(Armed::reads) {
            return lines;
        }
        let now = Instant::now();
        let mut hooks = std::mem::take(&mut self.hooks);
        let noted = tokio::task::spawn_blocking(move || {
            let noted = hooks.iter_mut().map(|hook| hook.note(&lines, now));
            let given_up = noted.filter(|noted| *noted == Noted::TooSlow).count();
            (hooks, lines, given_up)
        });
        let (hooks, lines, given_up) = match noted.await {
            Ok(noted) => noted,
            Err(error) => {
                warn!(%error, "failed to match the output of {} with its hooks", self.row.id);
                return Vec::new();
            }
        };
        self.hooks = hooks;
        for _ in 0..given_up {
            let notice = text::too_slow(&self.row);
            self.emit(TaskEffect::Notify(notice)).await;
        }
        lines
    }

    /// Fires the matches that are due.
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

    /// Fires every hook that `cause` triggers.
    pub(super) async fn fire_all(&mut self, cause: Cause) {
        for index in 0..self.hooks.len() {
            if self.hooks[index].means(&cause, self.row.exit_code) {
                self.fire(index, &cause).await;
            }
        }
    }

    /// Fires a hook, unless it is too soon or the hook has fired as often as it may. The firing is counted before it
    /// happens.
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
                warn!(%error, "failed to fire hook {}", hook.id);
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
            HookAction::InjectContext => TaskEffect::Inject(told(lines, self)),
            HookAction::SpawnBranch => TaskEffect::SpawnBranch(told(lines, self)),
        };
        self.emit_with(effect, spec.model).await;
    }
}
