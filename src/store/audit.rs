//! Who decided what, when: rows are added and never changed.

use chrono::{DateTime, Utc};
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use super::codec::{parsed_option, readable, stamp, time};
use super::error::StoreError;
use super::handle::Store;
use super::script::Script;
use crate::domain::{AgentId, GuildId, TurnId, UserId};

/// One decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRow {
    /// When.
    pub timestamp: DateTime<Utc>,
    /// In which server.
    pub guild: Option<GuildId>,
    /// About which agent.
    pub agent: Option<AgentId>,
    /// That agent's name then.
    pub agent_name: String,
    /// In which turn.
    pub turn: Option<TurnId>,
    /// The action string that was judged.
    pub action: String,
    /// `allow`, `ask_approved`, `ask_denied`, `ask_expired` or `deny`.
    pub decision: String,
    /// Who decided, or whose message it goes back to.
    pub user: Option<UserId>,
    /// What more there is to know (old and new value), secrets taken out.
    pub detail: Option<String>,
}

/// Which rows to list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Only this server's.
    pub guild: Option<GuildId>,
    /// Only this agent's.
    pub agent: Option<AgentId>,
    /// Only rows older than this one: the last id of the page before.
    pub before: Option<i64>,
}

impl Store {
    /// Adds one decision by itself; a step's own go along with the step ([`super::Alongside`]).
    ///
    /// # Errors
    ///
    /// See [`StoreError`].
    pub async fn audit(&self, row: AuditRow) -> Result<(), StoreError> {
        let mut script = Script::default();
        insert_audit(&mut script, &row);
        self.run(script).await.map(drop)
    }

    /// A page of decisions with their ids, newest first. Pages by [`AuditFilter::before`] never hold a row twice,
    /// so an export of any length needs no more memory than a page.
    ///
    /// # Errors
    ///
    /// See [`StoreError`].
    pub async fn audit_page(
        &self,
        filter: AuditFilter,
        limit: u32,
    ) -> Result<Vec<(i64, AuditRow)>, StoreError> {
        let mut db = self.reader().await?;
        let rows = sqlx::query(
            "SELECT * FROM audit_log WHERE (?1 IS NULL OR guild_id = ?1) AND (?2 IS NULL OR agent_id = ?2)
                 AND id < ?3 ORDER BY id DESC LIMIT ?4",
        )
        .bind(filter.guild.map(GuildId::as_i64))
        .bind(filter.agent.map(|agent| agent.to_string()))
        .bind(filter.before.unwrap_or(i64::MAX))
        .bind(limit)
        .fetch_all(&mut *db)
        .await?;
        Ok(readable(&rows, "audit_log", "id", |row| {
            Ok((row.try_get("id")?, audit_row(row)?))
        }))
    }
}

pub(super) fn insert_audit(script: &mut Script, row: &AuditRow) {
    script.add(
        "INSERT INTO audit_log (timestamp, guild_id, agent_id, agent_name, turn_id, action_string, decision, user_id,
             detail) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(stamp(row.timestamp))
    .bind(row.guild.map(GuildId::as_i64))
    .bind(row.agent.map(|agent| agent.to_string()))
    .bind(&row.agent_name)
    .bind(row.turn.map(|turn| turn.to_string()))
    .bind(&row.action)
    .bind(&row.decision)
    .bind(row.user.map(UserId::as_i64))
    .bind(row.detail.as_deref());
}

fn audit_row(row: &SqliteRow) -> Result<AuditRow, StoreError> {
    Ok(AuditRow {
        timestamp: time(row, "timestamp")?,
        guild: row
            .try_get::<Option<i64>, _>("guild_id")?
            .map(GuildId::from_i64),
        agent: parsed_option(row, "agent_id")?,
        agent_name: row.try_get("agent_name")?,
        turn: parsed_option(row, "turn_id")?,
        action: row.try_get("action_string")?,
        decision: row.try_get("decision")?,
        user: row
            .try_get::<Option<i64>, _>("user_id")?
            .map(UserId::from_i64),
        detail: row.try_get("detail")?,
    })
}
