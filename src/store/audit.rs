//! Who requested an action, who decided, and the outcome. A row is written before anything happens, and only its
//! outcome changes afterwards.

use std::fmt;

use chrono::{DateTime, Utc};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, query, query_scalar};

use super::Store;
use super::batch::Batch;
use super::codec::{self, parsed_option, stamp, text_option, time, words};
use super::error::StoreError;
use super::statement::{checked, scalar};
use crate::domain::{AgentId, CallId, GuildId, ToolResult, TurnId, UserId};
use crate::text;

/// Most characters of a failure's reason that are kept; the whole text is in the transcript.
const LONGEST_REASON: usize = 300;

/// Begins the text of a failure.
const FAILED: &str = "failed: ";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRow {
    pub timestamp: DateTime<Utc>,
    pub guild: Option<GuildId>,
    pub agent: Option<AgentId>,
    /// That agent's name at that time.
    pub agent_name: String,
    pub turn: Option<TurnId>,
    /// The root of that turn's run.
    pub run: Option<TurnId>,
    /// The role that requested it, in a child turn.
    pub role: Option<String>,
    /// The agent's name and those of the roles down to that turn; stored with the turn, so it is set only in rows that were
    /// read.
    pub path: Option<String>,
    pub call: Option<CallId>,
    /// The action string that was judged.
    pub action: String,
    pub decision: AuditDecision,
    /// The author of the message that led to it, or of the command.
    pub user: Option<UserId>,
    /// The person who answered the question, if there was one, or stopped the turn while it was open.
    pub decided_by: Option<UserId>,
    /// The outcome; `None` in rows from before outcomes were stored.
    pub outcome: Option<Outcome>,
    /// Further details (old and new value), with secrets removed.
    pub detail: Option<String>,
}

impl AuditRow {
    /// Returns who requested it, for people: the agent, and in a child turn the roles down to it.
    pub fn who(&self) -> String {
        match (&self.role, &self.path) {
            (None, _) => self.agent_name.clone(),
            (Some(_), Some(path)) => path.replace('/', " ▸ "),
            (Some(role), None) => format!("{} ▸ {role}", self.agent_name),
        }
    }
}

words! {
    /// How an action was decided.
    AuditDecision {
        Allow = "allow",
        AskApproved = "ask_approved",
        AskDenied = "ask_denied",
        /// No answer came in time.
        AskExpired = "ask_expired",
        /// The turn was stopped first.
        AskCancelled = "ask_cancelled",
        Deny = "deny",
        /// A person runs a call again that a restart had interrupted.
        ResumeRerun = "resume_rerun",
        /// Another word, from the home that this one was migrated from.
        Unknown = "unknown",
    }
}

impl AuditDecision {
    /// Returns the outcome that follows from the decision itself.
    pub const fn outcome(self) -> Outcome {
        match self {
            Self::Allow | Self::AskApproved | Self::ResumeRerun => Outcome::Started,
            Self::AskExpired | Self::AskCancelled => Outcome::NotRun,
            Self::AskDenied | Self::Deny => Outcome::Refused,
            Self::Unknown => Outcome::Unknown,
        }
    }

    /// Reads the outcome in `word`.
    pub fn read(word: &str) -> Self {
        word.parse().unwrap_or(Self::Unknown)
    }
}

/// The outcome of a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was allowed and has begun.
    Started,
    Applied,
    /// It was allowed and failed, for this reason.
    Failed(String),
    /// It was refused, so nothing was done.
    Refused,
    /// There was no decision, or the turn ended first, so nothing was done.
    NotRun,
    /// The daemon stopped while it was running: it may have been done.
    Unknown,
}

impl Outcome {
    /// Returns [`Self::Failed`] with the beginning of the reason.
    pub fn failed(reason: &str) -> Self {
        Self::Failed(text::one_line(reason, LONGEST_REASON))
    }

    fn read(text: &str) -> Self {
        match text {
            "started" => Self::Started,
            "applied" => Self::Applied,
            "refused" => Self::Refused,
            "not run" => Self::NotRun,
            "unknown" => Self::Unknown,
            other => Self::Failed(other.strip_prefix(FAILED).unwrap_or(other).to_owned()),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started => f.write_str("started"),
            Self::Applied => f.write_str("applied"),
            Self::Failed(reason) => write!(f, "{FAILED}{reason}"),
            Self::Refused => f.write_str("refused"),
            Self::NotRun => f.write_str("not run"),
            Self::Unknown => f.write_str("unknown"),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    pub guild: Option<GuildId>,
    pub agent: Option<AgentId>,
    /// Only rows older than this one: the last id of the previous page.
    pub before: Option<i64>,
}

impl Store {
    /// Adds one decision separately and returns its id; a step's own are stored with the step ([`super::AttachedRows`]).
    pub async fn audit(&self, row: AuditRow) -> Result<i64, StoreError> {
        let mut batch = Batch::default();
        insert_audit(&mut batch, &row);
        batch.add(checked(query_scalar!(
            "SELECT last_insert_rowid() AS \"id: i64\""
        )));
        self.row(batch, scalar).await
    }

    /// Writes the outcome of a decision that had [`Outcome::Started`].
    pub async fn set_outcome(&self, id: i64, outcome: &Outcome) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch.add(query!(
            "UPDATE audit_log SET outcome = ? WHERE id = ? AND outcome = 'started'",
            outcome.to_string(),
            id
        ));
        self.run(batch).await.map(drop)
    }

    /// Marks, at the start, the outcome of actions that had begun when the daemon stopped as unknown.
    pub async fn close_audit(&self) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch.add(query!(
            "UPDATE audit_log SET outcome = ? WHERE outcome = 'started'",
            Outcome::Unknown.to_string()
        ));
        self.run(batch).await.map(drop)
    }

    /// Returns a page of decisions with their ids, newest first. Pages by [`AuditFilter::before`] never repeat a row,
    /// so an export of any length needs no more memory than a page.
    pub async fn audit_page(
        &self,
        filter: AuditFilter,
        limit: u32,
    ) -> Result<Vec<(i64, AuditRow)>, StoreError> {
        let query = checked(query!(
            "SELECT *, (SELECT path FROM turns WHERE turns.id = audit_log.turn_id) AS path FROM audit_log
                 WHERE (?1 IS NULL OR guild_id = ?1) AND (?2 IS NULL OR agent_id = ?2)
                 AND id < ?3 ORDER BY id DESC LIMIT ?4",
            filter.guild.map(GuildId::as_i64),
            filter.agent.map(|agent| agent.to_string()),
            filter.before.unwrap_or(i64::MAX),
            limit
        ));
        query
            .readable(&mut *self.reader().await?, "audit_log", "id", |row| {
                Ok((row.try_get("id")?, audit_row(row)?))
            })
            .await
    }
}

pub(super) fn insert_audit(batch: &mut Batch, row: &AuditRow) {
    batch.add(query!(
        "INSERT INTO audit_log (timestamp, guild_id, agent_id, agent_name, turn_id, call_id, action_string, decision,
             user_id, decided_by, outcome, detail, run_id, role) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        stamp(row.timestamp),
        row.guild.map(GuildId::as_i64),
        row.agent.map(|agent| agent.to_string()),
        &row.agent_name,
        row.turn.map(|turn| turn.to_string()),
        row.call.as_ref().map(|call| call.0.as_str()),
        &row.action,
        row.decision.as_str(),
        row.user.map(UserId::as_i64),
        row.decided_by.map(UserId::as_i64),
        row.outcome.as_ref().map(Outcome::to_string),
        row.detail.as_deref(),
        row.run.map(|run| run.to_string()),
        row.role.as_deref()
    ));
}

/// Writes the outcome of a call that had started, with its result.
pub(super) fn close_call(batch: &mut Batch, turn: TurnId, result: &ToolResult) {
    let outcome = if result.is_error {
        Outcome::failed(&result.content)
    } else {
        Outcome::Applied
    };
    batch.add(query!(
        "UPDATE audit_log SET outcome = ? WHERE turn_id = ? AND call_id = ? AND outcome = 'started'",
        outcome.to_string(),
        turn.to_string(),
        &result.call_id.0
    ));
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
        run: parsed_option(row, "run_id")?,
        role: row.try_get("role")?,
        path: row.try_get("path")?,
        call: row.try_get::<Option<String>, _>("call_id")?.map(CallId),
        action: row.try_get("action_string")?,
        decision: AuditDecision::read(codec::text(row, "decision")?),
        user: row
            .try_get::<Option<i64>, _>("user_id")?
            .map(UserId::from_i64),
        decided_by: row
            .try_get::<Option<i64>, _>("decided_by")?
            .map(UserId::from_i64),
        outcome: text_option(row, "outcome")?.map(Outcome::read),
        detail: row.try_get("detail")?,
    })
}
