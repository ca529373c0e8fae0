//! The index of agents: which ones exist, where, and in which state.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, query};

use super::Store;
use super::batch::Batch;
use super::codec::{json, parsed, stamp, text, time, time_option};
use super::error::StoreError;
use super::statement::{Statement, sql};
use crate::domain::{AgentId, AgentStatus, ChannelId, GuildId, ProfileRef, UserId};

/// An agent in the index; its `agent.json` is authoritative.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentRow {
    /// Key of all its rows.
    pub id: AgentId,
    /// Unique among agents that are not destroyed.
    pub name: String,
    /// The server it lives in.
    pub guild_id: GuildId,
    /// Its channel; `None` while it is being created.
    pub channel_id: Option<ChannelId>,
    /// Model to ask first.
    pub model: Option<String>,
    pub permissions: ProfileRef,
    pub owner_id: Option<UserId>,
    pub created_at: DateTime<Utc>,
    /// When it was recreated over the files of a destroyed agent.
    #[serde(default)]
    pub back_since: Option<DateTime<Utc>>,
    /// Its status.
    pub status: AgentStatus,
}

/// The outcome of registering an agent or changing its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registered {
    Done,
    /// Another agent that is not destroyed has this name.
    NameTaken,
    /// Another agent that is not destroyed lives in this channel.
    ChannelTaken,
}

const COLUMNS: &str = "SELECT id, name, guild_id, channel_id, model, permissions, owner_id, created_at, back_since, status FROM agents";

impl Store {
    /// Registers an agent; one that was destroyed and returns under the same id gets its old row.
    pub async fn insert_agent(&self, agent: AgentRow) -> Result<Registered, StoreError> {
        let mut batch = Batch::default();
        put(&mut batch, &agent)?;
        self.register(batch).await
    }

    /// Runs a batch that writes an agent's row.
    pub(super) async fn register(&self, batch: Batch) -> Result<Registered, StoreError> {
        match self.run(batch).await {
            Ok(_) => Ok(Registered::Done),
            Err(StoreError::Query(error)) => taken(&error).ok_or(StoreError::Query(error)),
            Err(error) => Err(error),
        }
    }

    /// Updates the row from the current `agent.json`.
    pub async fn update_agent(&self, agent: AgentRow) -> Result<Registered, StoreError> {
        self.insert_agent(agent).await
    }

    /// Returns all agents, including destroyed ones, by name and then age. An agent with an unreadable row is left out.
    pub async fn agents(&self) -> Result<Vec<AgentRow>, StoreError> {
        let query = agents_where("ORDER BY name, created_at");
        query
            .readable(&mut *self.reader().await?, "agents", "id", agent)
            .await
    }

    pub async fn agent(&self, id: AgentId) -> Result<Option<AgentRow>, StoreError> {
        let query = agents_where("WHERE id = ?").bind(id.to_string());
        query.first(&mut *self.reader().await?, agent).await
    }

    /// Returns the agent called `name`, ignoring destroyed ones.
    pub async fn agent_by_name(&self, name: &str) -> Result<Option<AgentRow>, StoreError> {
        let query = agents_where("WHERE name = ? AND status <> 'destroyed'").bind(name);
        query.first(&mut *self.reader().await?, agent).await
    }
}

/// Adds the row of an agent, or replaces it.
pub(super) fn put(batch: &mut Batch, agent: &AgentRow) -> Result<(), StoreError> {
    batch.add(query!(
        "INSERT INTO agents (id, name, guild_id, channel_id, model, permissions, owner_id, created_at, back_since, status)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
             ON CONFLICT (id) DO UPDATE SET name = excluded.name, guild_id = excluded.guild_id,
                 channel_id = excluded.channel_id, model = excluded.model, permissions = excluded.permissions,
                 owner_id = excluded.owner_id, created_at = excluded.created_at, back_since = excluded.back_since,
                 status = excluded.status,
                 destroyed_at = CASE WHEN excluded.status = 'destroyed' THEN agents.destroyed_at END",
        agent.id.to_string(),
        &agent.name,
        agent.guild_id.as_i64(),
        agent.channel_id.map(ChannelId::as_i64),
        agent.model.as_deref(),
        permissions_text(&agent.permissions)?,
        agent.owner_id.map(UserId::as_i64),
        stamp(agent.created_at),
        agent.back_since.map(stamp),
        agent.status.as_str()
    ));
    Ok(())
}

/// Returns a statement with the columns and a condition of ours; both are constants of this file.
fn agents_where(condition: &'static str) -> Statement {
    sql(format!("{COLUMNS} {condition}"))
}

/// Returns the name or channel that another agent already has, if that is the cause of the error.
fn taken(error: &sqlx::Error) -> Option<Registered> {
    let refusal = error.as_database_error()?;
    refusal.is_unique_violation().then(|| {
        if refusal.message().contains("channel_id") {
            Registered::ChannelTaken
        } else {
            Registered::NameTaken
        }
    })
}

fn permissions_text(profile: &ProfileRef) -> Result<String, StoreError> {
    match profile {
        ProfileRef::Named(name) => Ok(name.clone()),
        ProfileRef::Custom(table) => json(table),
    }
}

fn agent(row: &SqliteRow) -> Result<AgentRow, StoreError> {
    let permissions = text(row, "permissions")?;
    let permissions = if permissions.starts_with('{') {
        ProfileRef::Custom(
            serde_json::from_str(permissions)
                .map_err(|error| StoreError::bad_row("agents.permissions", error))?,
        )
    } else {
        ProfileRef::Named(permissions.to_owned())
    };
    Ok(AgentRow {
        id: parsed(row, "id")?,
        name: row.try_get("name")?,
        guild_id: GuildId::from_i64(row.try_get("guild_id")?),
        channel_id: row
            .try_get::<Option<i64>, _>("channel_id")?
            .map(ChannelId::from_i64),
        model: row.try_get("model")?,
        permissions,
        owner_id: row
            .try_get::<Option<i64>, _>("owner_id")?
            .map(UserId::from_i64),
        created_at: time(row, "created_at")?,
        back_since: time_option(row, "back_since")?,
        status: match text(row, "status")? {
            "created" => AgentStatus::Created,
            "active" => AgentStatus::Active,
            "destroyed" => AgentStatus::Destroyed,
            other => {
                return Err(StoreError::bad_row(
                    "agents.status",
                    format!("unknown word `{other}`"),
                ));
            }
        },
    })
}
