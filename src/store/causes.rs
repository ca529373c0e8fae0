//! The effects of a person's message: the turns that began for it without a person, and the notes that began none.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::Utc;
use parking_lot::Mutex;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection, query, query_scalar};

use super::Store;
use super::batch::Batch;
use super::codec::{now, stamp};
use super::conversations::has_reported;
use super::error::StoreError;
use super::outbox::queue;
use super::part::NewPart;
use super::statement::{checked, scalar};
use crate::domain::causes::{Cause, PERIOD, Refusal};
use crate::domain::{AgentId, ChannelId, ConversationId, TurnId};

/// Most notes that are kept for the next turn of one conversation; the oldest are dropped first. People saw each of
/// them.
const MOST_KEPT: u32 = 20;

/// A note that begins no turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewKeptNote {
    pub agent: AgentId,
    /// Number of the conversation whose next turn gets it: 0 for the main one.
    pub number: u32,
    /// The text for the model.
    pub text: String,
    /// The branch that reports in it; it counts as having reported then.
    pub report_of: Option<ConversationId>,
    /// The turn that caused it.
    pub caused_by: Option<TurnId>,
    /// Where the notice for people goes, with its text; `None` if they already saw it.
    pub channel: ChannelId,
    pub notice: Option<String>,
}

/// A note that waits for the next turn of its conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptNote {
    pub id: i64,
    pub text: String,
}

/// Turns that are about to begin for a person's message, and are not yet in the ledger.
#[derive(Clone, Debug, Default)]
pub(super) struct Reserved(Arc<Mutex<HashMap<i64, u32>>>);

/// One turn that may begin for a message. It counts as begun until this is dropped: drop it once the turn is stored.
#[derive(Debug)]
pub struct ReservedTurn {
    all: Reserved,
    message: i64,
}

impl Reserved {
    /// Counts one more turn for `message`; also returns how many others are reserved.
    pub(super) fn one_more(&self, message: i64) -> (ReservedTurn, u32) {
        let mut all = self.0.lock();
        let count = all.entry(message).or_default();
        let others = *count;
        *count += 1;
        let reserved = ReservedTurn {
            all: self.clone(),
            message,
        };
        (reserved, others)
    }
}

impl Drop for ReservedTurn {
    fn drop(&mut self) {
        let mut all = self.all.0.lock();
        if let Some(count) = all.get_mut(&self.message) {
            *count -= 1;
            if *count == 0 {
                all.remove(&self.message);
            }
        }
    }
}

impl Store {
    /// Reserves one more turn for the message behind `turn`, which starts a child turn; or returns why it may not.
    pub async fn reserve_turn(
        &self,
        turn: TurnId,
    ) -> Result<Result<ReservedTurn, Refusal>, StoreError> {
        let db = &mut *self.reader().await?;
        let Some(message) = message_behind(db, turn).await? else {
            return Ok(Err(Refusal::UnknownMessage));
        };
        // Reserved before it is counted: if two do so at the same time, one sees the other.
        let (reserved, others) = self.inner.reserved.one_more(message);
        let begun = begun_for(db, message).await?;
        let cause = Cause {
            hops: 0,
            begun: Some(begun + others),
        };
        Ok(cause.may_begin(0).map(|()| reserved))
    }

    /// Counts the recent turns without a person, for the message behind `turn`; `None` if that message is not known.
    pub async fn caused_lately(&self, turn: TurnId) -> Result<Option<u32>, StoreError> {
        let db = &mut *self.reader().await?;
        match message_behind(db, turn).await? {
            Some(root) => Ok(Some(begun_for(db, root).await?)),
            None => Ok(None),
        }
    }

    /// Keeps a note for the next turn of its conversation, and queues the notice for people about it.
    pub async fn keep_note(&self, note: NewKeptNote) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch.add(query!(
            "INSERT INTO kept_notes (agent_id, number, text, kept_at, hides_words) VALUES (?, ?, ?, ?,
                     coalesce((SELECT root.hides_words FROM turns t JOIN turns root ON root.id = t.run_id WHERE t.id = ?), 0))",
            note.agent.to_string(),
            note.number,
            note.text,
            now(),
            note.caused_by.map(|turn| turn.to_string())
        ));
        batch.add(query!(
            "DELETE FROM kept_notes WHERE agent_id = ?1 AND number = ?2 AND id NOT IN
                     (SELECT id FROM kept_notes WHERE agent_id = ?1 AND number = ?2 ORDER BY id DESC LIMIT ?3)",
            note.agent.to_string(),
            note.number,
            MOST_KEPT
        ));
        if let Some(branch) = note.report_of {
            has_reported(&mut batch, branch);
        }
        if let Some(notice) = &note.notice {
            queue(
                &mut batch,
                note.channel,
                None,
                NewPart::notice(notice),
                None,
            )?;
        }
        self.run(batch).await.map(drop)
    }

    /// Returns the notes that wait for the next turn of a conversation, oldest first.
    pub async fn kept_notes(
        &self,
        agent: AgentId,
        number: u32,
    ) -> Result<Vec<KeptNote>, StoreError> {
        let query = checked(query!(
            "SELECT id, text FROM kept_notes WHERE agent_id = ? AND number = ? ORDER BY id",
            agent.to_string(),
            number
        ));
        query.all(&mut *self.reader().await?, kept_note).await
    }
}

fn kept_note(row: &SqliteRow) -> Result<KeptNote, StoreError> {
    Ok(KeptNote {
        id: row.try_get("id")?,
        text: row.try_get("text")?,
    })
}

/// Finds the person's message to which the effects of `turn` are charged: the latest one that was passed to it or to
/// the root of its run. If there is none, the message that led to it. The turn of a schedule or a webhook stands for its
/// message, as a negative number.
pub(super) async fn message_behind(
    db: &mut SqliteConnection,
    turn: TurnId,
) -> Result<Option<i64>, StoreError> {
    let found = checked(query_scalar!(
        "SELECT coalesce((SELECT max(n.message_id) FROM inbound n WHERE n.turn_id IN (t.id, root.id)),
             root.caused_by, root.trigger_id,
             CASE WHEN root.cause IN ('schedule', 'webhook') THEN -root.rowid END) AS \"message: i64\"
         FROM turns t JOIN turns root ON root.id = t.run_id WHERE t.id = ?",
        turn.to_string()
    ))
    .first(db, scalar::<Option<i64>>)
    .await?;
    Ok(found.flatten())
}

/// Counts the turns that the message `root` caused within [`PERIOD`], including children and stages.
pub(super) async fn begun_for(db: &mut SqliteConnection, root: i64) -> Result<u32, StoreError> {
    checked(query!(
        "SELECT count(*) AS count FROM turns WHERE caused_by = ? AND began_at > ?",
        root,
        stamp(Utc::now() - PERIOD)
    ))
    .one(db, scalar)
    .await
}

/// Records which message caused a turn that just began. If its text comes from a run with text that a role has to pass,
/// its conversation contains such text too.
pub(super) async fn set_cause(
    db: &mut SqliteConnection,
    turn: TurnId,
    root: Option<i64>,
) -> Result<(), StoreError> {
    let mut batch = Batch::default();
    batch.add(query!(
        "UPDATE turns SET caused_by = ? WHERE id = ?",
        root,
        turn.to_string()
    ));
    batch.add(query!(
        "UPDATE conversations SET hides_words = 1 WHERE hides_words = 0
                 AND id = (SELECT t.conversation_id FROM turns t JOIN turns parent ON parent.id = t.parent_id
                     JOIN turns root ON root.id = parent.run_id WHERE t.id = ? AND root.hides_words = 1)",
        turn.to_string()
    ));
    batch.run(db).await.map(drop)
}

/// Removes notes that begin a turn of `conversation`.
pub(super) fn forget_kept(batch: &mut Batch, conversation: ConversationId, notes: &[i64]) {
    for note in notes {
        batch.add(query!(
            "UPDATE conversations SET hides_words = 1
                 WHERE id = ? AND EXISTS (SELECT 1 FROM kept_notes k WHERE k.id = ? AND k.hides_words = 1)",
            conversation.0,
            *note
        ));
        batch.add(query!("DELETE FROM kept_notes WHERE id = ?", *note));
    }
}
