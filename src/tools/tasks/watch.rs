//! Watches one task, from its start to the end of its row.
//!
//! Started by [`Tasks::watch`], ends with its task or when the daemon closes; [`Tasks::shutdown`] waits for it. It receives
//! orders, the process's end and, at each check, new lines; it sends effects, and writes the row and its copy.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tracing::{info, warn};

use super::armed::{Armed, Cause};
use super::event::{TaskEffect, TaskEvent};
use super::follow::{Follow, Tail};
use super::text;
use super::{Order, Tasks};
use crate::domain::AgentName;
use crate::exec::{Ending, ExecError, Process, end_tree};
use crate::store::{Hook, TaskEnd, TaskKind, TaskRow, TaskStatus};

/// How often the logs are checked: soon enough for people, seldom enough to cost nothing.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Most lines of output in a report to the agent.
const REPORTED: usize = 30;

/// How a task's process ended.
#[derive(Clone, Debug)]
pub(super) enum End {
    Code(i32),
    /// It could not be run, or it is gone and nothing else is known; with the reason.
    Failed(String),
    /// It was gone when the daemon restarted, and left no exit code.
    Lost,
}

/// Why the watch ends its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Killed {
    No,
    /// A person, or a hook, requested it.
    Asked,
    Closing,
}

/// Watches one task.
pub(super) struct Watch {
    pub(super) tasks: Tasks,
    pub(super) row: TaskRow,
    pub(super) agent_name: AgentName,
    pub(super) hooks: Vec<Armed>,
    pub(super) tail: Arc<Mutex<Tail>>,
    inbox: mpsc::Receiver<Order>,
    stdout: Follow,
    stderr: Follow,
    killed: Killed,
    /// How its end began.
    ending: Option<Ending>,
    waiting: Vec<oneshot::Sender<TaskRow>>,
}

impl Watch {
    pub(super) fn new(
        tasks: Tasks,
        row: TaskRow,
        agent_name: AgentName,
        hooks: Vec<Hook>,
        inbox: mpsc::Receiver<Order>,
        tail: Arc<Mutex<Tail>>,
    ) -> Result<Self, ExecError> {
        let files = tasks.files(&agent_name, &row.id);
        Ok(Self {
            hooks: hooks.into_iter().filter_map(Armed::new).collect(),
            stdout: Follow::new(files.stdout),
            stderr: Follow::new(files.stderr),
            tasks,
            row,
            agent_name,
            tail,
            inbox,
            killed: Killed::No,
            ending: None,
            waiting: Vec::new(),
        })
    }

    /// Watches until `end`, then settles everything.
    pub(super) async fn run(mut self, end: impl Future<Output = End>) {
        let mut end = pin!(end);
        let closing = self.tasks.inner.closing.clone();
        let mut look = tokio::time::interval(LOOK_EVERY);
        look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let end = loop {
            tokio::select! {
                biased;
                () = closing.cancelled(), if self.killed != Killed::Closing => self.kill(Killed::Closing, Ending::InOrder),
                end = &mut end => break end,
                Some(order) = self.inbox.recv() => self.obey(order),
                _ = look.tick() => self.look().await,
            }
        };
        while self.read().await {}
        self.read_rests().await;
        self.settle(end).await;
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Stop(ending, done) => {
                self.waiting.push(done);
                self.kill(Killed::Asked, ending);
            }
            Order::Hooks(hooks) => self.hooks.extend(hooks.into_iter().filter_map(Armed::new)),
        }
    }

    /// Begins to end the task, or ends it faster; its end is noticed like any other.
    fn kill(&mut self, why: Killed, ending: Ending) {
        self.killed = why;
        if self.ending >= Some(ending) {
            return;
        }
        self.ending = Some(ending);
        if let Some(process) = self.process() {
            self.tasks.inner.watches.spawn(end_tree(process, ending));
        }
    }

    /// Ends the task because of a hook.
    pub(super) fn kill_by_hook(&mut self) {
        if self.killed == Killed::No {
            self.kill(Killed::Asked, Ending::InOrder);
        }
    }

    fn process(&self) -> Option<Process> {
        Some(Process {
            pid: self.row.pid?,
            started: self.row.pid_started?,
        })
    }

    /// Makes one check: new lines, due hooks, timeouts.
    async fn look(&mut self) {
        self.read().await;
        let now = Instant::now();
        self.fire_due(|due| due <= now).await;
        self.fire_timeouts().await;
    }

    /// Reads new lines; true if there is more.
    async fn read(&mut self) -> bool {
        let out = self.stdout.look().await;
        let err = self.stderr.look().await;
        let mut more = false;
        for (found, prefix) in [(out, ""), (err, "err: ")] {
            match found {
                Ok((lines, rest)) => {
                    more |= rest;
                    self.take(lines, prefix).await;
                }
                Err(error) => warn!(%error, "failed to read the log of a task"),
            }
        }
        more
    }

    async fn read_rests(&mut self) {
        let out = self.stdout.rest();
        let err = self.stderr.rest();
        self.take(out.into_iter().collect(), "").await;
        self.take(err.into_iter().collect(), "err: ").await;
    }

    async fn take(&mut self, lines: Vec<String>, prefix: &str) {
        let lines = self.note_matches(lines).await;
        let mut tail = self.tail.lock();
        for line in lines {
            tail.push(format!("{prefix}{line}"));
        }
    }

    /// Writes the end into the row, fires hooks on exit, and reports.
    async fn settle(mut self, end: End) {
        let (status, exit_code) = match (self.killed, &end) {
            (Killed::Asked | Killed::Closing, End::Code(_) | End::Failed(_) | End::Lost) => {
                (TaskStatus::Killed, None)
            }
            (Killed::No, End::Code(0)) => (TaskStatus::Completed, Some(0)),
            (Killed::No, End::Code(code)) => (TaskStatus::Failed, Some(*code)),
            (Killed::No, End::Failed(why)) => {
                self.take(vec![why.clone()], "err: ").await;
                (TaskStatus::Failed, None)
            }
            (Killed::No, End::Lost) => (TaskStatus::Lost, None),
        };
        let (agent, id) = (self.row.task.agent, self.row.id.clone());
        let ended = TaskEnd { status, exit_code };
        match self.tasks.inner.store.end_task(agent, &id, ended).await {
            Ok(row) => self.row = row,
            Err(error) => warn!(%error, "failed to store the end of task {id}"),
        }
        info!(
            task.status = status.as_str(),
            task.exit_code = exit_code,
            "{id} ended"
        );
        let scratch = self.tasks.files(&self.agent_name, &id).scratch;
        let _ = tokio::fs::remove_dir_all(scratch).await;
        self.tasks.lock_live().remove(&(agent, id));
        self.tasks.mirror(agent, &self.agent_name).await;
        for done in std::mem::take(&mut self.waiting) {
            let _ = done.send(self.row.clone());
        }
        if self.killed == Killed::Closing {
            return;
        }
        self.fire_due(|_| true).await;
        self.fire_all(Cause::Exit).await;
        if self.row.task.kind == TaskKind::Concurrent {
            let report = text::report(&self.row, &self.last(REPORTED));
            self.emit(TaskEffect::Inject(report)).await;
        }
    }

    pub(super) fn last(&self, count: usize) -> Vec<String> {
        let tail = self.tail.lock();
        tail.last(count)
    }

    pub(super) async fn emit(&self, effect: TaskEffect) {
        self.emit_with(effect, None).await;
    }

    /// Works like [`Self::emit`], with the model for a turn that `effect` starts.
    pub(super) async fn emit_with(&self, effect: TaskEffect, model: Option<String>) {
        let Some(events) = self.tasks.inner.events.get() else {
            return;
        };
        let event = TaskEvent {
            task: self.row.clone(),
            agent_name: self.agent_name.clone(),
            effect,
            depth: self.depth(),
            model,
        };
        events.happened(event).await;
    }

    /// Returns the hops that led to the effects of this task.
    fn depth(&self) -> u32 {
        self.row.task.depth + 1
    }
}
