//! Commands that continue beside the turn: started, watched, hooked, ended.
//!
//! ```text
//! run_concurrent, run_background ─▶ Tasks::start ─▶ row ▸ supervisor ▸ Watch (one per task)
//!                                                                       │ reads the logs as they grow
//!                       TaskEvents ◀─ notices, reports, branches ◀──────┘ fires hooks, keeps row and mirror
//! ```
//!
//! The database is authoritative for tasks; `running_tasks` in `agent.json` is a copy of it. A task's output goes directly
//! to its log files, so it survives a crash of the daemon: [`Tasks::recover`] adopts such tasks.

mod armed;
mod event;
mod fire;
mod follow;
mod mirror;
mod recover;
mod start;
mod text;
mod view;
mod watch;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::domain::{AgentId, AgentName, ChannelId, TaskId, TurnId};
use crate::exec::{Ending, ExecError, Probing, TaskFiles};
use crate::store::{Hook, Store, StoreError, TaskRow, TaskStatus};
use crate::tools::hooks::HookSpec;

pub use event::{TaskEffect, TaskEvent, TaskEvents, TaskNote};
pub use follow::Tail;
pub use start::NewCommand;
pub(in crate::tools) use text::outcome;
pub use view::{HookView, TaskView};

/// Most tasks of one agent that may run at once; more are a sign of a runaway agent.
pub const MOST_RUNNING: usize = 16;

/// Ended tasks in lists and in `agent.json`.
pub const RECENT: u32 = 20;

/// Why a request about a task was refused or failed.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// The agent has no such task.
    #[error("there is no task `{0}`; see `list_tasks`")]
    Unknown(TaskId),
    /// It has ended before.
    #[error("{0} has ended already: {1}")]
    Ended(TaskId, &'static str),
    /// The limit of running tasks is reached.
    #[error("{MOST_RUNNING} tasks of this agent run already; stop one first (`stop_task`)")]
    TooMany,
    #[error(transparent)]
    Exec(#[from] ExecError),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file could not be created or read.
    #[error("the task's files: {0}")]
    Io(#[from] std::io::Error),
}

/// All tasks of all agents. Cheap to clone.
#[derive(Clone)]
pub struct Tasks {
    inner: Arc<Inner>,
}

impl std::fmt::Debug for Tasks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tasks").finish_non_exhaustive()
    }
}

/// The state that all clones of [`Tasks`] share.
struct Inner {
    store: Store,
    sandbox: Probing,
    agents: PathBuf,
    events: OnceLock<Arc<dyn TaskEvents>>,
    live: Mutex<HashMap<Key, Live>>,
    watches: TaskTracker,
    closing: CancellationToken,
}

/// Identifies a task among those of all agents.
type Key = (AgentId, TaskId);

/// A running task, as its watch shares it.
#[derive(Clone)]
struct Live {
    /// The turn that started it.
    turn: Option<TurnId>,
    tail: Arc<Mutex<Tail>>,
    orders: mpsc::Sender<Order>,
}

enum Order {
    /// End the task, and report its end.
    Stop(Ending, oneshot::Sender<TaskRow>),
    /// Also watch these.
    Hooks(Vec<Hook>),
}

impl Tasks {
    /// Creates the tasks stored in `store`, run by `sandbox`, with their files below `agents`.
    pub fn new(store: Store, sandbox: Probing, agents: PathBuf) -> Self {
        Self {
            inner: Arc::new(Inner {
                store,
                sandbox,
                agents,
                events: OnceLock::new(),
                live: Mutex::default(),
                watches: TaskTracker::new(),
                closing: CancellationToken::new(),
            }),
        }
    }

    /// Connects the receiver of the tasks' effects. Until then these are dropped; call it once, before
    /// [`Tasks::recover`].
    pub fn connect(&self, events: Arc<dyn TaskEvents>) {
        let _ = self.inner.events.set(events);
    }

    /// Ends a task and waits until no process of it is left. Its exit hooks fire.
    ///
    /// # Errors
    ///
    /// Fails with [`TaskError::Unknown`] and [`TaskError::Ended`].
    pub async fn stop(&self, agent: AgentId, id: &TaskId) -> Result<TaskRow, TaskError> {
        self.end(agent, id, Ending::InOrder).await
    }

    async fn end(&self, agent: AgentId, id: &TaskId, ending: Ending) -> Result<TaskRow, TaskError> {
        let row = self.row(agent, id).await?;
        let Some(live) = self.live(agent, id) else {
            return Err(TaskError::Ended(id.clone(), row.status.as_str()));
        };
        let (done, ended) = oneshot::channel();
        let _ = live.orders.send(Order::Stop(ending, done)).await;
        match ended.await {
            Ok(row) => Ok(row),
            // It ended by itself at the same moment.
            Err(_) => {
                let row = self.row(agent, id).await?;
                Err(TaskError::Ended(id.clone(), row.status.as_str()))
            }
        }
    }

    /// Ends all tasks of an agent, before it is destroyed.
    pub async fn stop_all(&self, agent: AgentId) {
        let running: Vec<TaskId> = self
            .keys()
            .into_iter()
            .filter(|key| key.0 == agent)
            .map(|key| key.1)
            .collect();
        let stops = running.iter().map(|id| self.stop(agent, id));
        futures_util::future::join_all(stops).await;
    }

    /// Ends the remaining tasks of these turns, for any agent: cleanly, and at once after `abort` is cancelled.
    pub async fn stop_of_turns(&self, turns: &[TurnId], abort: &CancellationToken) {
        let in_order = self.stop_those_of(turns, Ending::InOrder);
        if abort.run_until_cancelled(in_order).await.is_none() {
            self.stop_those_of(turns, Ending::AtOnce).await;
        }
    }

    async fn stop_those_of(&self, turns: &[TurnId], ending: Ending) {
        let theirs: Vec<Key> = self
            .lock_live()
            .iter()
            .filter(|(_, live)| live.turn.is_some_and(|turn| turns.contains(&turn)))
            .map(|(key, _)| key.clone())
            .collect();
        // One may have ended by itself meanwhile.
        let stops = theirs
            .iter()
            .map(|(agent, id)| self.end(*agent, id, ending));
        futures_util::future::join_all(stops).await;
    }

    /// Ends all tasks of all agents cleanly: rows say `killed`, hooks do not fire. Returns a line for each channel
    /// about the ended tasks.
    pub async fn shutdown(&self) -> Vec<(ChannelId, String)> {
        let running = self.keys();
        self.inner.closing.cancel();
        self.inner.watches.close();
        self.inner.watches.wait().await;
        let mut ended: BTreeMap<ChannelId, Vec<TaskRow>> = BTreeMap::new();
        for (agent, id) in running {
            let row = self.row(agent, &id).await;
            // A task that ended by itself at the same moment reports that itself.
            if let Ok(row) = row
                && row.status == TaskStatus::Killed
            {
                ended.entry(row.task.channel).or_default().push(row);
            }
        }
        let line = |(channel, rows): (ChannelId, Vec<TaskRow>)| {
            (channel, text::ended_with_the_stop(&rows))
        };
        ended.into_iter().map(line).collect()
    }

    /// Returns whether a task of the agent runs.
    pub fn any_running(&self, agent: AgentId) -> bool {
        self.keys().iter().any(|key| key.0 == agent)
    }

    /// Adds hooks to a running task; returns how many it then has.
    ///
    /// # Errors
    ///
    /// Fails with [`TaskError::Unknown`] and [`TaskError::Ended`].
    pub async fn add_hooks(
        &self,
        agent: AgentId,
        id: &TaskId,
        hooks: Vec<HookSpec>,
    ) -> Result<usize, TaskError> {
        let row = self.row(agent, id).await?;
        let Some(live) = self.live(agent, id) else {
            return Err(TaskError::Ended(id.clone(), row.status.as_str()));
        };
        let added = self.insert_hooks(&row, hooks).await?;
        let _ = live.orders.send(Order::Hooks(added)).await;
        Ok(self.inner.store.hooks(agent, id).await?.len())
    }

    /// Returns the paths of a task's output and exit code.
    pub fn files(&self, agent_name: &AgentName, id: &TaskId) -> TaskFiles {
        TaskFiles::under(&self.folder(agent_name).join("processes").join(&id.0))
    }

    /// Returns the last lines of a running task, in order of arrival; `None` once it has ended.
    pub fn tail(&self, agent: AgentId, id: &TaskId) -> Option<Vec<String>> {
        let live = self.live(agent, id)?;
        let tail = live.tail.lock();
        Some(tail.lines())
    }

    /// Returns one task.
    ///
    /// # Errors
    ///
    /// Fails with [`TaskError::Unknown`].
    pub async fn row(&self, agent: AgentId, id: &TaskId) -> Result<TaskRow, TaskError> {
        let unknown = || TaskError::Unknown(id.clone());
        match self.inner.store.task(agent, id).await {
            Ok(row) => row.ok_or_else(unknown),
            Err(StoreError::NotFound(_)) => Err(unknown()),
            Err(error) => Err(error.into()),
        }
    }

    fn folder(&self, agent_name: &AgentName) -> PathBuf {
        self.inner.agents.join(agent_name.as_str())
    }

    /// Returns a task, as its watch shares it, while it runs.
    fn live(&self, agent: AgentId, id: &TaskId) -> Option<Live> {
        self.lock_live().get(&(agent, id.clone())).cloned()
    }

    fn keys(&self) -> Vec<Key> {
        self.lock_live().keys().cloned().collect()
    }

    /// Returns the running tasks; lock them only for a moment.
    fn lock_live(&self) -> parking_lot::MutexGuard<'_, HashMap<Key, Live>> {
        self.inner.live.lock()
    }
}
