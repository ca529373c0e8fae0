//! MCP servers and the definitions of their tools, as people approved them.
//!
//! A server's row and the rows of its tools are written together, so a crash leaves no partial approval.

use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, query};

use super::Store;
use super::batch::Batch;
use super::codec::{parsed, stamp, time_option, words};
use super::error::StoreError;
use super::outbox::queue;
use super::part::NewPart;
use super::statement::checked;
use crate::domain::{AgentId, ChannelId, UserId};

/// The scope of the servers of `config.json`, as the database names it.
const OF_ALL: &str = "*";

/// The owner of servers: one agent, or `config.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum McpScope {
    All,
    Agent(AgentId),
}

impl fmt::Display for McpScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str(OF_ALL),
            Self::Agent(agent) => agent.fmt(f),
        }
    }
}

words! {
    /// Whether people allow a server to start.
    McpState {
        /// Undecided, or changed since the decision.
        Waiting = "waiting",
        Approved = "approved",
        Denied = "denied",
    }
}

words! {
    /// The permission for a tool.
    McpMark {
        Read = "read",
        Write = "write",
        Off = "off",
    }
}

/// A server that was read at least once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpServerRow {
    pub name: String,
    /// The hash of the parts of its entry that a person approves, with its instructions.
    pub sha256: String,
    /// The revision of the protocol that worked last time.
    pub revision: String,
    pub state: McpState,
    /// The package with its version, if its entry names none.
    pub resolved_version: Option<String>,
    /// Untrusted text.
    pub instructions: String,
    pub decided_by: Option<UserId>,
    pub decided_at: Option<DateTime<Utc>>,
}

/// A tool of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpPinRow {
    pub server: String,
    pub tool: String,
    /// The approved definition, if there is one.
    pub approved: Option<PinnedDefinition>,
    pub mark: McpMark,
    /// The person who set the mark; `None` if it comes from the entry.
    pub decided_by: Option<UserId>,
    pub decided_at: Option<DateTime<Utc>>,
    /// A definition that is not yet approved, in canonical JSON.
    pub waiting: Option<Arc<str>>,
}

/// An approved definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinnedDefinition {
    pub sha256: String,
    /// Canonical JSON.
    pub definition: Arc<str>,
}

impl Store {
    /// Returns the servers of a scope by name. Unreadable servers are left out, and count as never approved.
    pub async fn mcp_servers(&self, scope: McpScope) -> Result<Vec<McpServerRow>, StoreError> {
        let query = checked(query!(
            "SELECT * FROM mcp_servers WHERE scope = ? ORDER BY name",
            scope.to_string()
        ));
        query
            .readable(&mut *self.reader().await?, "mcp_servers", "name", server)
            .await
    }

    /// Returns the tools of all servers of a scope. Unreadable tools are left out, and count as never approved.
    pub async fn mcp_pins(&self, scope: McpScope) -> Result<Vec<McpPinRow>, StoreError> {
        let query = checked(query!(
            "SELECT * FROM mcp_pins WHERE scope = ? ORDER BY server, rowid",
            scope.to_string()
        ));
        query
            .readable(&mut *self.reader().await?, "mcp_pins", "tool", pin)
            .await
    }

    /// Stores a server with all its tools, in their order, in place of its earlier rows; and the notice for a channel
    /// about that.
    pub async fn put_mcp_server(
        &self,
        scope: McpScope,
        row: &McpServerRow,
        pins: &[McpPinRow],
        told: Option<(ChannelId, NewPart)>,
    ) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        if let Some((channel, part)) = told {
            queue(&mut batch, channel, None, part, None)?;
        }
        batch.add(query!(
            "INSERT OR REPLACE INTO mcp_servers
                 (scope, name, sha256, revision, state, resolved_version, instructions, decided_by, decided_at)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            scope.to_string(),
            row.name.as_str(),
            row.sha256.as_str(),
            row.revision.as_str(),
            row.state.as_str(),
            row.resolved_version.as_deref(),
            row.instructions.as_str(),
            row.decided_by.map(UserId::as_i64),
            row.decided_at.map(stamp)
        ));
        batch.add(query!(
            "DELETE FROM mcp_pins WHERE scope = ? AND server = ?",
            scope.to_string(),
            row.name.as_str()
        ));
        for pin in pins {
            batch.add(query!(
                "INSERT OR REPLACE INTO mcp_pins
                     (scope, server, tool, sha256, definition, mark, decided_by, decided_at, waiting)
                     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                scope.to_string(),
                row.name.as_str(),
                pin.tool.as_str(),
                pin.approved.as_ref().map(|approved| approved.sha256.as_str()),
                pin.approved
                    .as_ref()
                    .map(|approved| approved.definition.to_string()),
                pin.mark.as_str(),
                pin.decided_by.map(UserId::as_i64),
                pin.decided_at.map(stamp),
                pin.waiting.as_deref().map(str::to_owned)
            ));
        }
        self.run(batch).await.map(drop)
    }

    /// Forgets a server with its tools.
    pub async fn forget_mcp_server(&self, scope: McpScope, name: &str) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch.add(query!(
            "DELETE FROM mcp_servers WHERE scope = ? AND name = ?",
            scope.to_string(),
            name
        ));
        batch.add(query!(
            "DELETE FROM mcp_pins WHERE scope = ? AND server = ?",
            scope.to_string(),
            name
        ));
        self.run(batch).await.map(drop)
    }
}

/// Forgets the servers of a destroyed agent.
pub(super) fn forget_servers(batch: &mut Batch, agent: AgentId) {
    batch.add(query!(
        "DELETE FROM mcp_servers WHERE scope = ?",
        agent.to_string()
    ));
    batch.add(query!(
        "DELETE FROM mcp_pins WHERE scope = ?",
        agent.to_string()
    ));
}

fn user(row: &SqliteRow) -> Result<Option<UserId>, StoreError> {
    let id: Option<i64> = row.try_get("decided_by")?;
    Ok(id.map(UserId::from_i64))
}

fn server(row: &SqliteRow) -> Result<McpServerRow, StoreError> {
    Ok(McpServerRow {
        name: row.try_get("name")?,
        sha256: row.try_get("sha256")?,
        revision: row.try_get("revision")?,
        state: parsed(row, "state")?,
        resolved_version: row.try_get("resolved_version")?,
        instructions: row.try_get("instructions")?,
        decided_by: user(row)?,
        decided_at: time_option(row, "decided_at")?,
    })
}

fn pin(row: &SqliteRow) -> Result<McpPinRow, StoreError> {
    let sha256: Option<String> = row.try_get("sha256")?;
    let definition: Option<String> = row.try_get("definition")?;
    let waiting: Option<String> = row.try_get("waiting")?;
    let approved = sha256.zip(definition);
    Ok(McpPinRow {
        server: row.try_get("server")?,
        tool: row.try_get("tool")?,
        approved: approved.map(|(sha256, definition)| PinnedDefinition {
            sha256,
            definition: definition.into(),
        }),
        mark: parsed(row, "mark")?,
        decided_by: user(row)?,
        decided_at: time_option(row, "decided_at")?,
        waiting: waiting.map(Arc::from),
    })
}
