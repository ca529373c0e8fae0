//! Reads the database of the Python original, which is never written to.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, Row};
use serde_json::Value;

use super::codec::text_option;
use super::error::StoreError;
use super::readers::blocking;
use super::statement::{scalar, sql};

/// What Chorus imports from the original's database. Everything else stays in the copy of the file.
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
    /// `active` in all databases that are known.
    pub status: String,
}

/// A saved session of the original.
#[derive(Debug)]
pub struct OriginalSession {
    /// A UUID.
    pub id: String,
    pub agent_name: String,
    /// What a person gave.
    pub description: String,
    /// What a model wrote.
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
    /// When it is not a database of the original, or cannot be read.
    pub async fn read(path: &Path) -> Result<Self, StoreError> {
        let path = path.to_owned();
        blocking(move || {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            Self::read_from(&Connection::open_with_flags(&path, flags)?, &path)
        })
        .await
    }

    fn read_from(db: &Connection, path: &Path) -> Result<Self, StoreError> {
        let tables: i64 = sql(
            "SELECT count(*) FROM sqlite_schema WHERE name IN ('agents', 'sessions', 'messages', 'audit_log')
                 AND type = 'table'",
        )
        .one(db, scalar)?;
        let ours: i64 = sql("SELECT count(*) FROM sqlite_schema WHERE name = '_sqlx_migrations'")
            .one(db, scalar)?;
        if tables != 4 || ours != 0 {
            return Err(StoreError::Foreign {
                path: path.to_owned(),
                reason: "it lacks the tables of the Python original".to_owned(),
            });
        }
        Ok(Self {
            agents: sql("SELECT * FROM agents ORDER BY name").all(db, agent)?,
            sessions: sql("SELECT * FROM sessions ORDER BY saved_at, id").all(db, session)?,
            messages: sql("SELECT * FROM messages ORDER BY timestamp, id").all(db, message)?,
            audit: sql("SELECT * FROM audit_log ORDER BY id").all(db, audit)?,
        })
    }
}

fn agent(row: &Row<'_>) -> Result<OriginalAgent, StoreError> {
    Ok(OriginalAgent {
        name: row.get("name")?,
        channel_id: row.get("channel_id")?,
        guild_id: row.get("guild_id")?,
        model: row.get("model")?,
        permissions: words(row, "permissions")?,
        created_at: words(row, "created_at")?,
        status: words(row, "status")?,
    })
}

fn session(row: &Row<'_>) -> Result<OriginalSession, StoreError> {
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

fn message(row: &Row<'_>) -> Result<OriginalMessage, StoreError> {
    let calls = text_option(row, "tool_calls")?;
    Ok(OriginalMessage {
        agent_name: words(row, "agent_name")?,
        role: words(row, "role")?,
        content: words(row, "content")?,
        tool_calls: calls.and_then(|calls| serde_json::from_str(calls).ok()),
        tool_call_id: row.get("tool_call_id")?,
        timestamp: words(row, "timestamp")?,
    })
}

fn audit(row: &Row<'_>) -> Result<OriginalAudit, StoreError> {
    Ok(OriginalAudit {
        agent_name: words(row, "agent_name")?,
        timestamp: words(row, "timestamp")?,
        action: words(row, "action_string")?,
        decision: words(row, "decision")?,
        user_id: row.get("user_id")?,
        detail: row.get("detail")?,
    })
}

/// The text of a column, which the original may have left empty.
fn words(row: &Row<'_>, name: &str) -> Result<String, StoreError> {
    Ok(text_option(row, name)?.unwrap_or_default().to_owned())
}
