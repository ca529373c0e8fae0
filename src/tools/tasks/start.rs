//! Starts a task: first the row, then the process, then its watch.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::mpsc;
use tracing::{Instrument, info_span};

use super::follow::Tail;
use super::watch::{End, Watch};
use super::{Live, MOST_RUNNING, TaskError, Tasks};
use crate::domain::AgentName;
use crate::exec::{Command, ExecError};
use crate::store::{Hook, NewHook, NewTask, TaskEnd, TaskRow, TaskStatus};
use crate::tools::hooks::HookSpec;

/// Orders that a watch may queue before callers wait: a check of the logs takes a moment, and a turn gives one order at
/// a time.
const MOST_ORDERS: usize = 16;

/// A task about to be started.
#[derive(Debug)]
pub struct NewCommand {
    pub task: NewTask,
    /// The agent's name, for its folder.
    pub agent_name: AgentName,
    /// The command to run.
    pub command: Command,
    pub hooks: Vec<HookSpec>,
}

impl Tasks {
    /// Starts a task and returns at once.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be started; a created row then says `failed`.
    pub async fn start(&self, new: NewCommand) -> Result<TaskRow, TaskError> {
        let agent = new.task.agent;
        if self.keys().iter().filter(|key| key.0 == agent).count() >= MOST_RUNNING {
            return Err(TaskError::TooMany);
        }
        let row = self.inner.store.insert_task(new.task).await?;
        match self
            .launch(&row, &new.agent_name, &new.command, new.hooks)
            .await
        {
            Ok(row) => Ok(row),
            Err(error) => {
                let end = TaskEnd {
                    status: TaskStatus::Failed,
                    exit_code: None,
                };
                self.inner.store.end_task(agent, &row.id, end).await?;
                self.mirror(agent, &new.agent_name).await;
                Err(error)
            }
        }
    }

    async fn launch(
        &self,
        row: &TaskRow,
        agent_name: &AgentName,
        command: &Command,
        hooks: Vec<HookSpec>,
    ) -> Result<TaskRow, TaskError> {
        let files = self.files(agent_name, &row.id);
        let folder = self.folder(agent_name).join("processes").join(&row.id.0);
        // Files that an earlier agent of this name left under the same number do not belong to this task.
        match tokio::fs::remove_dir_all(&folder).await {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => tokio::fs::create_dir_all(&folder).await?,
        }
        let hooks = self.insert_hooks(row, hooks).await?;
        let sandbox = self.inner.sandbox.sandbox().await?;
        let spawned = sandbox.spawn(command, &files).await?;
        let process = spawned.process();
        let (agent, id) = (row.task.agent, row.id.clone());
        self.inner
            .store
            .set_task_process(agent, &id, process.pid, process.started)
            .await?;
        let row = self.row(agent, &id).await?;
        let end = async move {
            match spawned.wait().await {
                Ok(code) => End::Code(code),
                Err(why) => End::Failed(why.to_string()),
            }
        };
        self.watch(row.clone(), agent_name.clone(), hooks, end)?;
        self.mirror(agent, agent_name).await;
        Ok(row)
    }

    /// Watches a task while its process runs, until `end`.
    pub(super) fn watch(
        &self,
        row: TaskRow,
        agent_name: AgentName,
        hooks: Vec<Hook>,
        end: impl Future<Output = End> + Send + 'static,
    ) -> Result<(), ExecError> {
        let (orders, inbox) = mpsc::channel(MOST_ORDERS);
        let tail = Arc::new(Mutex::new(Tail::default()));
        let (key, turn) = ((row.task.agent, row.id.clone()), row.task.turn);
        let span = info_span!(parent: None, "task", agent.id = %key.0, task.id = %key.1);
        let watch = Watch::new(self.clone(), row, agent_name, hooks, inbox, tail.clone())?;
        let live = Live { turn, tail, orders };
        self.lock_live().insert(key, live);
        self.inner.watches.spawn(watch.run(end).instrument(span));
        Ok(())
    }

    pub(super) async fn insert_hooks(
        &self,
        row: &TaskRow,
        hooks: Vec<HookSpec>,
    ) -> Result<Vec<Hook>, TaskError> {
        let mut inserted = Vec::new();
        for spec in hooks {
            let hook = NewHook {
                agent: row.task.agent,
                task: row.id.clone(),
                max_fires: spec.fires_at_most(),
                spec: serde_json::to_value(&spec).map_err(std::io::Error::other)?,
            };
            inserted.push(self.inner.store.insert_hook(hook).await?);
        }
        Ok(inserted)
    }
}
