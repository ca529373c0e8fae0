//! Operations on an agent as a whole: recorded before they begin, and deleted when all of them is done.
//!
//! Creating, renaming and destroying an agent change its folder, its row and Discord, which share no transaction. A
//! start after a crash follows the intent: it finishes the operation, and each step may already have been done.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sqlx::query;
use sqlx::sqlite::SqliteRow;

use super::Store;
use super::agents::{self, AgentRow, Registered};
use super::batch::Batch;
use super::codec::{from_json, json, now, parsed};
use super::error::StoreError;
use super::inbound::move_cursor;
use super::mcp::forget_servers;
use super::outbox::queue;
use super::part::NewPart;
use super::schedules::end_plans;
use super::statement::checked;
use crate::domain::{AgentId, AgentStatus, ChannelId, MessageId};

/// An operation in progress on an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "operation", rename_all = "snake_case")]
pub enum Intent {
    Init {
        /// Keys for the `agent.json` of a folder that existed before; `None` if the folder is new.
        kept: Option<Map<String, Value>>,
        /// The row that it had as a destroyed agent.
        before: Option<Box<AgentRow>>,
    },
    /// Its folder and row are being renamed.
    Rename { from: String, to: String },
    /// It is being destroyed; its contexts are saved.
    Destroy { keep_files: bool },
    /// Its channel is to get this name as soon as Discord allows it.
    ChannelName { name: String },
    /// People were notified of its missing parts, and how to repair it.
    Repair {
        /// Its channel is gone.
        channel: bool,
        /// Its folder is gone.
        folder: bool,
    },
}

/// The kinds of intents; an agent can have one of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntentKind {
    Init,
    Rename,
    Destroy,
    ChannelName,
    Repair,
}

impl IntentKind {
    /// Returns the word that the database holds.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::Rename => "rename",
            Self::Destroy => "destroy",
            Self::ChannelName => "channel_name",
            Self::Repair => "repair",
        }
    }
}

impl Intent {
    pub const fn kind(&self) -> IntentKind {
        match self {
            Self::Init { .. } => IntentKind::Init,
            Self::Rename { .. } => IntentKind::Rename,
            Self::Destroy { .. } => IntentKind::Destroy,
            Self::ChannelName { .. } => IntentKind::ChannelName,
            Self::Repair { .. } => IntentKind::Repair,
        }
    }
}

impl Store {
    /// Records that an operation is about to begin.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError`]; then the operation must not begin.
    pub async fn intend(&self, agent: AgentId, intent: Intent) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        note(&mut batch, agent, &intent)?;
        self.run(batch).await.map(drop)
    }

    /// Records that an agent is about to be destroyed, and closes its conversations, which are saved: after a crash it
    /// is either being destroyed or unchanged.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError`]; then the operation must not begin.
    pub async fn begin_destroy(&self, agent: AgentId, keep_files: bool) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        note(&mut batch, agent, &Intent::Destroy { keep_files })?;
        batch.add(query!(
            "UPDATE conversations SET closed_at = ?, crash_session = NULL
                 WHERE agent_id = ? AND closed_at IS NULL",
            now(),
            agent.to_string()
        ));
        self.run(batch).await.map(drop)
    }

    /// Records that the operation is done, or was undone.
    pub async fn settled(&self, agent: AgentId, kind: IntentKind) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        strike(&mut batch, agent, kind);
        self.run(batch).await.map(drop)
    }

    /// Records that a channel has this name, unless it is to get a newer one.
    pub async fn channel_is_named(&self, agent: AgentId, name: &str) -> Result<(), StoreError> {
        let intent = Intent::ChannelName {
            name: name.to_owned(),
        };
        let mut batch = Batch::default();
        batch.add(query!(
            "DELETE FROM lifecycle WHERE agent_id = ? AND operation = ? AND detail = ?",
            agent.to_string(),
            intent.kind().as_str(),
            json(&intent)?
        ));
        self.run(batch).await.map(drop)
    }

    /// Returns all operations in progress. Unreadable operations are left out.
    pub async fn intents(&self) -> Result<Vec<(AgentId, Intent)>, StoreError> {
        let query = checked(query!(
            "SELECT agent_id, detail FROM lifecycle ORDER BY begun_at"
        ));
        query
            .readable(&mut *self.reader().await?, "lifecycle", "agent_id", intent)
            .await
    }

    /// Returns the operation in progress on one agent.
    pub async fn intent(
        &self,
        agent: AgentId,
        kind: IntentKind,
    ) -> Result<Option<Intent>, StoreError> {
        let query = checked(query!(
            "SELECT agent_id, detail FROM lifecycle WHERE agent_id = ? AND operation = ?",
            agent.to_string(),
            kind.as_str()
        ));
        let found = query.first(&mut *self.reader().await?, intent).await?;
        Ok(found.map(|(_, intent)| intent))
    }

    /// Registers an agent that is about to be created.
    pub async fn begin_init(
        &self,
        agent: AgentRow,
        intent: Intent,
    ) -> Result<Registered, StoreError> {
        let mut batch = Batch::default();
        agents::put(&mut batch, &agent)?;
        note(&mut batch, agent.id, &intent)?;
        self.register(batch).await
    }

    /// Undoes a registration after the creation failed. The row of a destroyed agent is restored as it was `before`.
    pub async fn undo_init(
        &self,
        agent: AgentId,
        before: Option<&AgentRow>,
    ) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        match before {
            Some(row) => agents::put(&mut batch, row)?,
            None => {
                batch.add(query!("DELETE FROM agents WHERE id = ?", agent.to_string()));
            }
        }
        strike(&mut batch, agent, IntentKind::Init);
        self.run(batch).await.map(drop)
    }

    /// Updates the row of a renamed agent; its channel still has to follow.
    pub async fn finish_rename(&self, agent: AgentRow) -> Result<Registered, StoreError> {
        let mut batch = Batch::default();
        agents::put(&mut batch, &agent)?;
        strike(&mut batch, agent.id, IntentKind::Rename);
        if agent.channel_id.is_some() {
            let name = agent.name.clone();
            note(&mut batch, agent.id, &Intent::ChannelName { name })?;
        }
        self.register(batch).await
    }

    /// Destroys the row of an agent; all its intents except the destruction are dropped.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::NotFound`] for an unknown agent.
    pub async fn destroy_agent(&self, agent: AgentId) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch
            .add(query!(
                "UPDATE agents SET status = ?, destroyed_at = ? WHERE id = ?",
                AgentStatus::Destroyed.as_str(),
                now(),
                agent.to_string()
            ))
            .must_change(format!("agent {agent}"));
        batch.add(query!(
            "DELETE FROM lifecycle WHERE agent_id = ? AND operation <> ?",
            agent.to_string(),
            IntentKind::Destroy.as_str()
        ));
        end_plans(&mut batch, agent);
        forget_servers(&mut batch, agent);
        self.run(batch).await.map(drop)
    }

    /// Registers an agent that has only its folder left. Its channel gets a notice, and messages there up to `seen` do
    /// not count as new.
    pub async fn rebuild_agent(
        &self,
        agent: AgentRow,
        seen: Option<MessageId>,
        notice: &str,
    ) -> Result<Registered, StoreError> {
        let mut batch = Batch::default();
        agents::put(&mut batch, &agent)?;
        if let Some(channel) = agent.channel_id {
            move_cursor(&mut batch, channel, seen.unwrap_or(MessageId(channel.0)));
            queue(&mut batch, channel, None, NewPart::notice(notice), None)?;
        }
        self.register(batch).await
    }

    /// Posts in `channel` which parts of these agents are missing, and records that people were notified.
    pub async fn offer_repair(
        &self,
        lacking: &[(AgentId, Intent)],
        channel: Option<ChannelId>,
        notice: &str,
    ) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        for (agent, intent) in lacking {
            note(&mut batch, *agent, intent)?;
        }
        if let Some(channel) = channel {
            queue(&mut batch, channel, None, NewPart::notice(notice), None)?;
        }
        self.run(batch).await.map(drop)
    }
}

fn note(batch: &mut Batch, agent: AgentId, intent: &Intent) -> Result<(), StoreError> {
    batch.add(query!(
        "INSERT INTO lifecycle (agent_id, operation, detail, begun_at) VALUES (?, ?, ?, ?)
             ON CONFLICT (agent_id, operation) DO UPDATE SET detail = excluded.detail, begun_at = excluded.begun_at",
        agent.to_string(),
        intent.kind().as_str(),
        json(intent)?,
        now()
    ));
    Ok(())
}

fn strike(batch: &mut Batch, agent: AgentId, kind: IntentKind) {
    batch.add(query!(
        "DELETE FROM lifecycle WHERE agent_id = ? AND operation = ?",
        agent.to_string(),
        kind.as_str()
    ));
}

fn intent(row: &SqliteRow) -> Result<(AgentId, Intent), StoreError> {
    Ok((parsed(row, "agent_id")?, from_json(row, "detail")?))
}
