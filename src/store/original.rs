//! Reads the database of the Python original, which is never written to.

use std::path::Path;

use serde_json::Value;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteRow};
use sqlx::{ConnectOptions as _, Connection as _, Row as _};

use super::error::StoreError;

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
        let mut db = SqliteConnectOptions::new()
            .filename(path)
            .read_only(true)
            .disable_statement_logging()
            .connect()
            .await?;
        let original = Self::read_from(&mut db, path).await;
        // A reader has nothing to write back.
        let _ = db.close().await;
        original
    }

    async fn read_from(db: &mut SqliteConnection, path: &Path) -> Result<Self, StoreError> {
        let tables: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM sqlite_schema WHERE name IN ('agents', 'sessions', 'messages', 'audit_log')
                 AND type = 'table'",
        )
        .fetch_one(&mut *db)
        .await?;
        let ours: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM sqlite_schema WHERE name = '_sqlx_migrations'",
        )
        .fetch_one(&mut *db)
        .await?;
        if tables != 4 || ours != 0 {
            return Err(StoreError::Foreign {
                path: path.to_owned(),
                reason: "it lacks the tables of the Python original".to_owned(),
            });
        }
        Ok(Self {
            agents: all(db, "SELECT * FROM agents ORDER BY name", agent).await?,
            sessions: all(db, "SELECT * FROM sessions ORDER BY saved_at, id", session).await?,
            messages: all(db, "SELECT * FROM messages ORDER BY timestamp, id", message).await?,
            audit: all(db, "SELECT * FROM audit_log ORDER BY id", audit).await?,
        })
    }
}

async fn all<T>(
    db: &mut SqliteConnection,
    sql: &'static str,
    read: fn(&SqliteRow) -> Result<T, sqlx::Error>,
) -> Result<Vec<T>, StoreError> {
    let rows = sqlx::query(sql).fetch_all(db).await?;
    Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
}

fn agent(row: &SqliteRow) -> Result<OriginalAgent, sqlx::Error> {
    Ok(OriginalAgent {
        name: row.try_get("name")?,
        channel_id: row.try_get("channel_id")?,
        guild_id: row.try_get("guild_id")?,
        model: row.try_get("model")?,
        permissions: row.try_get("permissions")?,
        created_at: row.try_get("created_at")?,
        status: row.try_get("status")?,
    })
}

fn session(row: &SqliteRow) -> Result<OriginalSession, sqlx::Error> {
    Ok(OriginalSession {
        id: row.try_get("id")?,
        agent_name: row.try_get("agent_name")?,
        description: row
            .try_get::<Option<_>, _>("description")?
            .unwrap_or_default(),
        // A column that a later version of the original added.
        summary: row
            .try_get::<Option<_>, _>("summary")
            .ok()
            .flatten()
            .unwrap_or_default(),
        saved_at: row.try_get("saved_at")?,
        file_path: row.try_get("file_path")?,
    })
}

fn message(row: &SqliteRow) -> Result<OriginalMessage, sqlx::Error> {
    let calls: Option<String> = row.try_get("tool_calls")?;
    Ok(OriginalMessage {
        agent_name: row.try_get("agent_name")?,
        role: row.try_get("role")?,
        content: row.try_get::<Option<_>, _>("content")?.unwrap_or_default(),
        tool_calls: calls.and_then(|text| serde_json::from_str(&text).ok()),
        tool_call_id: row.try_get("tool_call_id")?,
        timestamp: row.try_get("timestamp")?,
    })
}

fn audit(row: &SqliteRow) -> Result<OriginalAudit, sqlx::Error> {
    Ok(OriginalAudit {
        agent_name: row.try_get("agent_name")?,
        timestamp: row.try_get("timestamp")?,
        action: row.try_get("action_string")?,
        decision: row.try_get("decision")?,
        user_id: row.try_get("user_id")?,
        detail: row.try_get("detail")?,
    })
}
