//! Long-running commands and the hooks on them, as the authoritative record of both.

use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, query};

use super::Store;
use super::batch::Batch;
use super::codec::{from_json, now, parsed, parsed_option, stamp, time, time_option, words};
use super::error::StoreError;
use super::statement::checked;
use crate::domain::{AgentId, ChannelId, ConversationId, TaskId, TurnId};

words! {
    /// The owner of a task.
    TaskKind {
        /// Its turn's conversation.
        Concurrent = "concurrent",
        /// The agent, beyond its turn.
        Background = "background",
    }
}

words! {
    TaskStatus {
        /// Its process is alive, as far as is known.
        Running = "running",
        /// It ended with exit code 0.
        Completed = "completed",
        /// It ended with another exit code.
        Failed = "failed",
        Killed = "killed",
        /// It was gone when the daemon restarted.
        Lost = "lost",
    }
}

/// A task about to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTask {
    pub agent: AgentId,
    pub kind: TaskKind,
    /// The command as the model wrote it.
    pub command: String,
    /// Its working directory, relative to the workspace.
    pub directory: String,
    /// The turn that started it.
    pub turn: Option<TurnId>,
    /// The conversation it reports to.
    pub conversation: Option<ConversationId>,
    /// The channel it is shown in.
    pub channel: ChannelId,
    /// Hops of hooks or other agents that led here.
    pub depth: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskEnd {
    /// Any status but running.
    pub status: TaskStatus,
    pub exit_code: Option<i32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRow {
    /// Its id within its agent.
    pub id: TaskId,
    pub task: NewTask,
    pub pid: Option<u32>,
    /// That process's start time in clock ticks since boot, which distinguishes it from a later process with the same
    /// number.
    pub pid_started: Option<u64>,
    pub status: TaskStatus,
    pub exit_code: Option<i32>,
    pub started_at: DateTime<Utc>,
    pub ended_at: Option<DateTime<Utc>>,
    /// Whether it was started in a run with text that a role has to pass before people get it.
    pub hides_words: bool,
}

/// A hook to add to a task.
#[derive(Clone, Debug, PartialEq)]
pub struct NewHook {
    pub agent: AgentId,
    pub task: TaskId,
    /// Trigger, action and context, in the form that the hooks' code defines.
    pub spec: Value,
    /// How often it may fire.
    pub max_fires: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Hook {
    pub id: i64,
    pub hook: NewHook,
    pub fires: u32,
    pub last_fired: Option<DateTime<Utc>>,
}

impl Store {
    /// Adds a task, running and without a process yet, under its agent's next number.
    pub async fn insert_task(&self, task: NewTask) -> Result<TaskRow, StoreError> {
        let turn = task.turn.map(|turn| turn.to_string());
        let mut batch = Batch::default();
        batch.add(query!(
            "INSERT INTO tasks (number, agent_id, kind, command, directory, turn_id, conversation_id, channel_id,
                     depth, status, started_at, hides_words)
                 VALUES ((SELECT coalesce(max(number), 0) + 1 FROM tasks WHERE agent_id = ?),
                     ?, ?, ?, ?, ?, ?, ?, ?, 'running', ?,
                     coalesce((SELECT root.hides_words FROM turns t JOIN turns root ON root.id = t.run_id WHERE t.id = ?), 0))
                 RETURNING *",
            task.agent.to_string(),
            task.agent.to_string(),
            task.kind.as_str(),
            task.command,
            task.directory,
            &turn,
            task.conversation.map(|conversation| conversation.0),
            task.channel.as_i64(),
            task.depth,
            now(),
            &turn
        ));
        self.row(batch, task_row).await
    }

    /// Stores a task's process, once there is one.
    pub async fn set_task_process(
        &self,
        agent: AgentId,
        task: &TaskId,
        pid: u32,
        pid_started: u64,
    ) -> Result<(), StoreError> {
        let number = number(task)?;
        let mut batch = Batch::default();
        batch.add(query!(
            "UPDATE tasks SET pid = ?, pid_started = ? WHERE agent_id = ? AND number = ?",
            pid,
            i64::try_from(pid_started).unwrap_or(i64::MAX),
            agent.to_string(),
            number
        ));
        self.run(batch).await.map(drop)
    }

    /// Ends a running task; the first end wins. Returns the task in its current state.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::NotFound`] for an unknown task.
    pub async fn end_task(
        &self,
        agent: AgentId,
        task: &TaskId,
        end: TaskEnd,
    ) -> Result<TaskRow, StoreError> {
        let number = number(task)?;
        let mut batch = Batch::default();
        batch.add(query!(
            "UPDATE tasks SET status = ?, exit_code = ?, ended_at = ?
                 WHERE agent_id = ? AND number = ? AND status = 'running'",
            end.status.as_str(),
            end.exit_code,
            now(),
            agent.to_string(),
            number
        ));
        batch.add(query!(
            "SELECT * FROM tasks WHERE agent_id = ? AND number = ?",
            agent.to_string(),
            number
        ));
        // It has ended even if its row cannot be read.
        match self.rows(batch, |row| Ok(task_row(row))).await?.pop() {
            Some(task) => task,
            None => Err(StoreError::NotFound(format!("task {task}"))),
        }
    }

    /// Returns an agent's tasks: all running ones and the latest `ended` others, newest first.
    pub async fn tasks(&self, agent: AgentId, ended: u32) -> Result<Vec<TaskRow>, StoreError> {
        let query = checked(query!(
            "SELECT * FROM tasks WHERE agent_id = ?1 AND (status = 'running' OR number IN
                 (SELECT number FROM tasks WHERE agent_id = ?1 AND status <> 'running'
                  ORDER BY ended_at DESC, number DESC LIMIT ?2)) ORDER BY number DESC",
            agent.to_string(),
            ended
        ));
        query
            .readable(&mut *self.reader().await?, "tasks", "number", task_row)
            .await
    }

    /// Returns one task.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::NotFound`] for an invalid task id.
    pub async fn task(&self, agent: AgentId, id: &TaskId) -> Result<Option<TaskRow>, StoreError> {
        let query = checked(query!(
            "SELECT * FROM tasks WHERE agent_id = ? AND number = ?",
            agent.to_string(),
            number(id)?
        ));
        query.first(&mut *self.reader().await?, task_row).await
    }

    /// Returns all agents' running tasks, as far as is known.
    pub async fn running_tasks(&self) -> Result<Vec<TaskRow>, StoreError> {
        let query = checked(query!(
            "SELECT * FROM tasks WHERE status = 'running' ORDER BY agent_id, number"
        ));
        query
            .readable(&mut *self.reader().await?, "tasks", "number", task_row)
            .await
    }

    /// Adds a hook to a task.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::NotFound`] for an invalid task id.
    pub async fn insert_hook(&self, hook: NewHook) -> Result<Hook, StoreError> {
        let number = number(&hook.task)?;
        let mut batch = Batch::default();
        batch.add(query!(
            "INSERT INTO hooks (agent_id, task, spec, max_fires) VALUES (?, ?, ?, ?) RETURNING *",
            hook.agent.to_string(),
            number,
            hook.spec.to_string(),
            hook.max_fires
        ));
        self.row(batch, hook_row).await
    }

    /// Returns the hooks of a task, oldest first.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::NotFound`] for an invalid task id.
    pub async fn hooks(&self, agent: AgentId, task: &TaskId) -> Result<Vec<Hook>, StoreError> {
        let query = checked(query!(
            "SELECT * FROM hooks WHERE agent_id = ? AND task = ? ORDER BY id",
            agent.to_string(),
            number(task)?
        ));
        query
            .readable(&mut *self.reader().await?, "hooks", "id", hook_row)
            .await
    }

    /// Counts one firing before it happens; `None` if the hook has fired as often as it may, or is gone.
    pub async fn fire_hook(&self, id: i64, at: DateTime<Utc>) -> Result<Option<Hook>, StoreError> {
        let mut batch = Batch::default();
        batch.add(query!(
            "UPDATE hooks SET fires = fires + 1, last_fired = ?
                 WHERE id = ? AND fires < max_fires RETURNING *",
            stamp(at),
            id
        ));
        Ok(self.rows(batch, hook_row).await?.pop())
    }
}

/// Returns the number in `task_NNN`.
fn number(task: &TaskId) -> Result<i64, StoreError> {
    task.0
        .strip_prefix("task_")
        .and_then(|digits| digits.parse::<u32>().ok())
        .map(i64::from)
        .ok_or_else(|| StoreError::NotFound(format!("task `{task}`")))
}

fn task_row(row: &SqliteRow) -> Result<TaskRow, StoreError> {
    Ok(TaskRow {
        id: TaskId::nth(row.try_get("number")?),
        task: NewTask {
            agent: parsed(row, "agent_id")?,
            kind: parsed(row, "kind")?,
            command: row.try_get("command")?,
            directory: row.try_get("directory")?,
            turn: parsed_option(row, "turn_id")?,
            conversation: row
                .try_get::<Option<i64>, _>("conversation_id")?
                .map(ConversationId),
            channel: ChannelId::from_i64(row.try_get("channel_id")?),
            depth: row.try_get("depth")?,
        },
        pid: row.try_get("pid")?,
        pid_started: row
            .try_get::<Option<i64>, _>("pid_started")?
            .and_then(|ticks| u64::try_from(ticks).ok()),
        status: parsed(row, "status")?,
        exit_code: row.try_get("exit_code")?,
        started_at: time(row, "started_at")?,
        ended_at: time_option(row, "ended_at")?,
        hides_words: row.try_get("hides_words")?,
    })
}

fn hook_row(row: &SqliteRow) -> Result<Hook, StoreError> {
    Ok(Hook {
        id: row.try_get("id")?,
        hook: NewHook {
            agent: parsed(row, "agent_id")?,
            task: TaskId::nth(row.try_get("task")?),
            spec: from_json(row, "spec")?,
            max_fires: row.try_get("max_fires")?,
        },
        fires: row.try_get("fires")?,
        last_fired: time_option(row, "last_fired")?,
    })
}
