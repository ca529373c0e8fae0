//! Reads the database of the Python original, which is never written.

use std::path::Path;

use serde_json::Value;
use sqlx::sqlite::{SqliteConnectOptions, SqliteRow};
use sqlx::{ConnectOptions as _, Connection as _, Row as _, SqliteConnection};

use super::codec::text_option;
use super::error::StoreError;
use super::statement::{scalar, sql};

/// The parts of the original's database that Chorus imports. Everything else stays in the copy of the file.
#[derive(Debug, Default)]
pub struct Original {
    pub agents: Vec<OriginalAgent>,
    /// Its saved sessions, oldest first.
    pub sessions: Vec<OriginalSession>,
    /// Every message, oldest first.
    pub messages: Vec<OriginalMessage>,
    /// Its audit log, oldest first.
    pub audit: Vec<OriginalAudit>,
}

#[derive(Debug)]
pub struct OriginalAgent {
    /// Its name; the original allowed more characters.
    pub name: String,
    pub channel_id: i64,
    pub guild_id: i64,
    pub model: Option<String>,
    /// Its permission profile.
    pub permissions: String,
    /// RFC 3339.
    pub created_at: String,
    /// `active` in all known databases.
    pub status: String,
}

/// A saved session of the original.
#[derive(Debug)]
pub struct OriginalSession {
    /// A UUID.
    pub id: String,
    pub agent_name: String,
    /// Given by a person.
    pub description: String,
    /// Written by a model.
    pub summary: String,
    /// RFC 3339.
    pub saved_at: String,
    /// An absolute path.
    pub file_path: String,
}

#[derive(Debug)]
pub struct OriginalMessage {
    pub agent_name: String,
    /// `user`, `assistant`, `tool` or `system`.
    pub role: String,
    pub content: String,
    /// Tool calls, as the original wrote them.
    pub tool_calls: Option<Value>,
    /// The call a tool message answers.
    pub tool_call_id: Option<String>,
    /// RFC 3339.
    pub timestamp: String,
}

/// One audited decision of the original.
#[derive(Debug)]
pub struct OriginalAudit {
    pub agent_name: String,
    /// RFC 3339.
    pub timestamp: String,
    pub action: String,
    /// The decision's word.
    pub decision: String,
    pub user_id: Option<i64>,
    pub detail: Option<String>,
}

impl Original {
    /// Reads the original's database at `path`.
    ///
    /// # Errors
    ///
    /// Fails if it is not a database of the original, or cannot be read.
    pub async fn read(path: &Path) -> Result<Self, StoreError> {
        let options = SqliteConnectOptions::new().filename(path).read_only(true);
        let mut db = options.disable_statement_logging().connect().await?;
        let found = Self::read_from(&mut db, path).await;
        db.close().await?;
        found
    }

    async fn read_from(db: &mut SqliteConnection, path: &Path) -> Result<Self, StoreError> {
        // The tables are not ours, so no macro knows them.
        let tables: i64 = sql(
            "SELECT count(*) FROM sqlite_schema WHERE name IN ('agents', 'sessions', 'messages', 'audit_log')
                 AND type = 'table'",
        )
        .one(db, scalar)
        .await?;
        let ours: i64 = sql("SELECT count(*) FROM sqlite_schema WHERE name = '_sqlx_migrations'")
            .one(db, scalar)
            .await?;
        if tables != 4 || ours != 0 {
            return Err(StoreError::Foreign {
                path: path.to_owned(),
                reason: "it lacks the tables of the Python original".to_owned(),
            });
        }
        let agents = sql("SELECT * FROM agents ORDER BY name");
        let sessions = sql("SELECT * FROM sessions ORDER BY saved_at, id");
        let messages = sql("SELECT * FROM messages ORDER BY timestamp, id");
        let decisions = sql("SELECT * FROM audit_log ORDER BY id");
        Ok(Self {
            agents: agents.all(db, agent).await?,
            sessions: sessions.all(db, session).await?,
            messages: messages.all(db, message).await?,
            audit: decisions.all(db, audit).await?,
        })
    }
}

fn agent(row: &SqliteRow) -> Result<OriginalAgent, StoreError> {
    Ok(OriginalAgent {
        name: row.try_get("name")?,
        channel_id: row.try_get("channel_id")?,
        guild_id: row.try_get("guild_id")?,
        model: row.try_get("model")?,
        permissions: words(row, "permissions")?,
        created_at: words(row, "created_at")?,
        status: words(row, "status")?,
    })
}

fn session(row: &SqliteRow) -> Result<OriginalSession, StoreError> {
    Ok(OriginalSession {
        id: words(row, "id")?,
        agent_name: words(row, "agent_name")?,
        description: words(row, "description")?,
        // A column that a later version of the original added.
        summary: words(row, "summary").unwrap_or_default(),
        saved_at: words(row, "saved_at")?,
        file_path: words(row, "file_path")?,
    })
}

fn message(row: &SqliteRow) -> Result<OriginalMessage, StoreError> {
    let calls = text_option(row, "tool_calls")?;
    Ok(OriginalMessage {
        agent_name: words(row, "agent_name")?,
        role: words(row, "role")?,
        content: words(row, "content")?,
        tool_calls: calls.and_then(|calls| serde_json::from_str(calls).ok()),
        tool_call_id: row.try_get("tool_call_id")?,
        timestamp: words(row, "timestamp")?,
    })
}

fn audit(row: &SqliteRow) -> Result<OriginalAudit, StoreError> {
    Ok(OriginalAudit {
        agent_name: words(row, "agent_name")?,
        timestamp: words(row, "timestamp")?,
        action: words(row, "action_string")?,
        decision: words(row, "decision")?,
        user_id: row.try_get("user_id")?,
        detail: row.try_get("detail")?,
    })
}

/// Returns the text of a column, which the original may have left empty.
fn words(row: &SqliteRow, name: &str) -> Result<String, StoreError> {
    Ok(text_option(row, name)?.unwrap_or_default().to_owned())
}
