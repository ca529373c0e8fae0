//! Turns in the ledger, and the queries that find one.

use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, query};

use super::Store;
use super::broken::BROKE_OFF;
use super::children::child_of;
use super::codec::{cost, parsed, parsed_option, text_option, time, time_option, tokens, words};
use super::error::StoreError;
use super::statement::{checked, scalar, sql};
use super::turn_causes::TurnCause;
use super::turns::{EndReason, NewTurn};
use crate::domain::{ChannelId, ConversationId, Cost, MessageId, TurnId, Usage};

words! {
    TurnEnd {
        Running = "running",
        Finished = "finished",
        /// The daemon stopped while it ran; recovery gave it its outcome.
        Interrupted = "interrupted",
    }
}

/// A turn in the ledger.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnRow {
    pub begun: NewTurn,
    /// The first turn in the chain that led to it; its own id if it has no cause.
    pub origin: TurnId,
    pub state: TurnEnd,
    /// Exit reason, once it ended.
    pub exit: Option<EndReason>,
    pub steps: u32,
    pub usage: Usage,
    pub cost: Cost,
    /// The message with its preview.
    pub preview: Option<MessageId>,
    /// Its live status message.
    pub status_post: Option<MessageId>,
    pub began_at: DateTime<Utc>,
    pub ended_at: Option<DateTime<Utc>>,
    /// The fields of its report: `FinishedTurn::report`.
    pub report: Option<Value>,
    /// Whether no person began it.
    pub unattended: bool,
    /// The interrupted turn that it continues.
    pub resumes: Option<TurnId>,
}

impl TurnRow {
    /// Returns whether the turn's task panicked.
    pub fn broke_off(&self) -> bool {
        let reason = self.report.as_ref().map(|report| &report["reason"]);
        reason.is_some_and(|reason| reason == BROKE_OFF)
    }
}

/// The id of the turn that the message `?1` belongs to.
pub(super) const OF_MESSAGE: &str = "coalesce(
    (SELECT o.turn_id FROM outbox o WHERE o.message_id = ?1),
    (SELECT n.turn_id FROM inbound n WHERE n.message_id = ?1),
    (SELECT b.id FROM turns b WHERE b.trigger_id = ?1 AND b.parent_id IS NULL),
    (SELECT a.turn_id FROM approvals a WHERE a.message_id = ?1),
    (SELECT p.id FROM turns p WHERE p.status_id = ?1 OR p.preview_id = ?1))";

impl Store {
    pub async fn turn(&self, id: TurnId) -> Result<Option<TurnRow>, StoreError> {
        let query = checked(query!("SELECT * FROM turns WHERE id = ?", id.to_string()));
        query.first(&mut *self.reader().await?, turn_row).await
    }

    /// Returns whether a turn runs in a conversation.
    pub async fn has_running_turn(&self, conversation: ConversationId) -> Result<bool, StoreError> {
        let query = checked(query!(
            "SELECT 1 AS runs FROM turns WHERE conversation_id = ? AND state = 'running' LIMIT 1",
            conversation.0
        ));
        let found = query
            .first(&mut *self.reader().await?, scalar::<i64>)
            .await?;
        Ok(found.is_some())
    }

    /// Returns the turn that a message belongs to, a person's message or one of ours.
    pub async fn turn_of_message(&self, message: MessageId) -> Result<Option<TurnRow>, StoreError> {
        let query = sql(format!("SELECT * FROM turns WHERE id = {OF_MESSAGE}"));
        let query = query.bind(message.as_i64());
        query.first(&mut *self.reader().await?, turn_row).await
    }

    /// Returns the messages answered by the answer to which `message` belongs; empty for any other message. A refusal
    /// does not count, because no conversation keeps it.
    pub async fn answered_by(&self, message: MessageId) -> Result<Vec<MessageId>, StoreError> {
        let query = checked(query!(
            "WITH answering AS (SELECT t.id, t.trigger_id FROM outbox o JOIN turns t ON t.id = o.turn_id
                 WHERE o.message_id = ? AND o.kind = 'reply' AND t.exit <> 'refused')
             SELECT trigger_id FROM answering WHERE trigger_id IS NOT NULL
             UNION SELECT n.message_id FROM answering JOIN inbound n ON n.turn_id = answering.id",
            message.as_i64()
        ));
        query
            .all(&mut *self.reader().await?, |row| {
                scalar(row).map(MessageId::from_i64)
            })
            .await
    }

    /// Returns the turn with the preview `shown`: by its id, or by the message it refers to. If it refers to none, the
    /// latest turn of its channel that answers none.
    pub async fn turn_shown_by(
        &self,
        shown: MessageId,
        channel: ChannelId,
        reply_to: Option<MessageId>,
    ) -> Result<Option<TurnRow>, StoreError> {
        let query = checked(query!(
            "SELECT * FROM turns WHERE preview_id = ?1 OR (channel_id = ?2 AND reply_to IS ?3 AND kind = 'turn')
             ORDER BY preview_id IS ?1 DESC, rowid DESC LIMIT 1",
            shown.as_i64(),
            channel.as_i64(),
            reply_to.map(MessageId::as_i64)
        ));
        query.first(&mut *self.reader().await?, turn_row).await
    }

    /// Returns the latest turns of a conversation, newest first.
    pub async fn turns(
        &self,
        conversation: ConversationId,
        limit: u32,
    ) -> Result<Vec<TurnRow>, StoreError> {
        let query = checked(query!(
            "SELECT * FROM turns WHERE conversation_id = ? ORDER BY rowid DESC LIMIT ?",
            conversation.0,
            limit
        ));
        query.all(&mut *self.reader().await?, turn_row).await
    }
}

pub(super) fn turn_row(row: &SqliteRow) -> Result<TurnRow, StoreError> {
    let message = |name: &str| -> Result<Option<MessageId>, StoreError> {
        Ok(row
            .try_get::<Option<i64>, _>(name)?
            .map(MessageId::from_i64))
    };
    Ok(TurnRow {
        begun: NewTurn {
            id: parsed(row, "id")?,
            agent: parsed(row, "agent_id")?,
            conversation: ConversationId(row.try_get("conversation_id")?),
            trigger: message("trigger_id")?,
            parent: parsed_option(row, "parent_id")?,
            depth: row.try_get("depth")?,
            channel: ChannelId::from_i64(row.try_get("channel_id")?),
            reply_to: message("reply_to")?,
            path: row
                .try_get::<Option<String>, _>("path")?
                .unwrap_or_default(),
            cause: match row.try_get::<Option<String>, _>("cause")? {
                None => TurnCause::Message,
                Some(_) => parsed(row, "cause")?,
            },
            child: child_of(row)?,
        },
        origin: parsed(row, "origin_id")?,
        state: parsed(row, "state")?,
        exit: parsed_option(row, "exit")?,
        steps: row.try_get("steps")?,
        usage: tokens(row)?,
        cost: cost(row)?,
        preview: message("preview_id")?,
        status_post: message("status_id")?,
        began_at: time(row, "began_at")?,
        ended_at: time_option(row, "ended_at")?,
        report: text_option(row, "report")?.and_then(|report| serde_json::from_str(report).ok()),
        unattended: row.try_get("unattended")?,
        resumes: parsed_option(row, "resumes")?,
    })
}
