//! Tasks as lists show them.

use chrono::{DateTime, Utc};

use super::{RECENT, TaskError, Tasks};
use crate::domain::{AgentId, TaskId};
use crate::store::{TaskKind, TaskRow, TaskStatus};
use crate::tools::hooks::HookSpec;

#[derive(Clone, Debug, PartialEq)]
pub struct TaskView {
    pub id: TaskId,
    pub kind: TaskKind,
    pub status: TaskStatus,
    /// The command as the model wrote it.
    pub command: String,
    /// Its working directory, relative to the workspace.
    pub directory: String,
    pub pid: Option<u32>,
    pub exit_code: Option<i32>,
    pub started_at: DateTime<Utc>,
    pub ended_at: Option<DateTime<Utc>>,
    /// Its hooks.
    pub hooks: Vec<HookView>,
    /// Whether a role has to pass its command and its hooks before people get them.
    pub hides_words: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct HookView {
    pub spec: HookSpec,
    pub fires: u32,
}

impl Tasks {
    /// Returns an agent's tasks, oldest first: the running ones and the last [`RECENT`] that ended.
    pub async fn views(&self, agent: AgentId) -> Result<Vec<TaskView>, TaskError> {
        let rows = self.inner.store.tasks(agent, RECENT).await?;
        let mut views = Vec::new();
        for row in rows.into_iter().rev() {
            views.push(self.view(row).await?);
        }
        Ok(views)
    }

    async fn view(&self, row: TaskRow) -> Result<TaskView, TaskError> {
        let hooks = self.inner.store.hooks(row.task.agent, &row.id).await?;
        let hooks = hooks.into_iter().filter_map(|hook| {
            Some(HookView {
                spec: serde_json::from_value(hook.hook.spec).ok()?,
                fires: hook.fires,
            })
        });
        Ok(TaskView {
            hooks: hooks.collect(),
            id: row.id,
            kind: row.task.kind,
            status: row.status,
            command: row.task.command,
            directory: row.task.directory,
            pid: row.pid,
            exit_code: row.exit_code,
            started_at: row.started_at,
            ended_at: row.ended_at,
            hides_words: row.hides_words,
        })
    }
}
