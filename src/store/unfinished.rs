//! The remains of an unclean stop, and their closing in one transaction.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection, query};

use super::Store;
use super::batch::Batch;
use super::broken::adds_up;
use super::calls::{OpenQuestion, question};
use super::codec::{count, now, report_unreadable, stamp, text};
use super::conversations::{ConversationRow, SELECT, conversation};
use super::error::StoreError;
use super::items::replace;
use super::outbox::queue;
use super::part::{NewPart, Part, part_row};
use super::resumes::all_may_go_on;
use super::statement::{checked, scalar, sql};
use super::turn_rows::{TurnRow, turn_row};
use crate::domain::{
    AttemptKind, AttemptOutcome, CallId, ChannelId, ConversationId, Item, MessageId, SessionId,
};

/// A call without a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCall {
    pub id: CallId,
    pub name: String,
    /// Whether it had begun.
    pub reach: CallReach,
}

/// The progress of an unfinished call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallReach {
    Proposed,
    /// It ran, but its progress is unknown.
    Started,
}

/// A turn that was running.
#[derive(Clone, Debug, PartialEq)]
pub struct UnfinishedTurn {
    pub turn: TurnRow,
    /// Its calls without results, in order.
    pub calls: Vec<OpenCall>,
    /// Its questions without answers.
    pub questions: Vec<OpenQuestion>,
    /// How many answers its model had given.
    pub answers: usize,
}

/// A running turn whose row cannot be read: it is only known where to post about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableTurn {
    pub channel: ChannelId,
    /// The message it answers.
    pub reply_to: Option<MessageId>,
    /// Its messages: a preview, a live status.
    pub shown: Vec<MessageId>,
}

/// Everything to clean up at the start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unfinished {
    /// Turns that were running, oldest first.
    pub turns: Vec<UnfinishedTurn>,
    /// Turns without any other known fact.
    pub unreadable: Vec<UnreadableTurn>,
    /// Open conversations with items, by id.
    pub conversations: Vec<ConversationRow>,
    /// Parts marked `sending`, in order: they may or may not have been posted.
    pub doubts: Vec<Part>,
}

/// How to close unfinished work, completely or not at all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Closing {
    /// Conversations with a repaired history, and their new items.
    pub histories: BTreeMap<ConversationId, Vec<Item>>,
    /// Conversations to save as `crash_recovery`, each with the id of its future session, so that a save which another
    /// crash interrupts is recognised.
    pub sessions: BTreeMap<ConversationId, SessionId>,
    pub told: Vec<Told>,
}

/// A message for people about unfinished work.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    pub channel: ChannelId,
    /// Our message that it replaces: a question, a preview, a live status.
    pub edits: Option<MessageId>,
    pub part: NewPart,
}

impl Store {
    /// Returns the channels of turns that were interrupted since then, and of the latest turns in any state. A crash
    /// may have left messages in them with ids that were not stored yet.
    pub async fn unsettled_channels(
        &self,
        since: DateTime<Utc>,
    ) -> Result<Vec<ChannelId>, StoreError> {
        let query = checked(query!(
            "WITH cut AS (SELECT id, channel_id FROM turns WHERE state = 'interrupted' AND ended_at > ?
                 UNION SELECT id, channel_id FROM (SELECT id, channel_id FROM turns ORDER BY rowid DESC LIMIT 16))
             SELECT channel_id FROM cut
             UNION SELECT approvals.channel_id FROM approvals JOIN cut ON cut.id = approvals.turn_id",
            stamp(since)
        ));
        query
            .all(&mut *self.reader().await?, |row| {
                scalar(row).map(ChannelId::from_i64)
            })
            .await
    }

    /// Returns the remains of the last stop; empty after a clean one.
    pub async fn unfinished(&self) -> Result<Unfinished, StoreError> {
        left_behind(&mut *self.reader().await?).await
    }

    /// Closes all unfinished work in one transaction, so that a second run finds nothing left to close. Every turn that
    /// is marked as running, readable or not, becomes `interrupted`; its open calls and questions end with it.
    pub async fn close_unfinished(&self, closing: Closing) -> Result<(), StoreError> {
        self.write(move |db| Box::pin(close(db, closing))).await
    }

    /// Records that the session of an interrupted conversation is saved, with its first `items` items.
    pub async fn crash_session_saved(
        &self,
        conversation: ConversationId,
        items: u64,
    ) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch.add(query!(
            "UPDATE conversations SET saved_as = coalesce(crash_session, saved_as), crash_session = NULL,
                     saved_items = max(saved_items, ?) WHERE id = ?",
            count(items),
            conversation.0
        ));
        self.run(batch).await.map(drop)
    }
}

async fn left_behind(db: &mut SqliteConnection) -> Result<Unfinished, StoreError> {
    let mut found = Unfinished::default();
    let running = checked(query!(
        "SELECT * FROM turns WHERE state = 'running' ORDER BY began_at, id"
    ));
    for row in running.rows(db).await? {
        match turn_row(&row) {
            Ok(turn) => found.turns.push(unfinished_turn(db, turn).await?),
            Err(error) => {
                report_unreadable(&row, "turns", "id", &error);
                found.unreadable.push(unreadable_turn(&row)?);
            }
        }
    }
    let open = sql(format!(
        "SELECT * FROM ({SELECT} WHERE c.closed_at IS NULL) WHERE items > 0 ORDER BY id"
    ));
    found.conversations = open
        .readable(db, "conversations", "id", conversation)
        .await?;
    // In the words of its index, which SQLite does not infer from the second condition.
    let doubts = checked(query!(
        "SELECT * FROM outbox WHERE state IN ('pending', 'sending') AND state = 'sending' ORDER BY id"
    ));
    found.doubts = doubts.readable(db, "outbox", "id", part_row).await?;
    Ok(found)
}

async fn unfinished_turn(
    db: &mut SqliteConnection,
    turn: TurnRow,
) -> Result<UnfinishedTurn, StoreError> {
    let id = turn.begun.id.to_string();
    let calls = checked(query!(
        "SELECT call_id, name, state FROM calls
         WHERE turn_id = ? AND state IN ('proposed', 'started') ORDER BY position",
        &id
    ));
    let questions = checked(query!(
        "SELECT * FROM approvals WHERE turn_id = ? AND decision IS NULL ORDER BY id",
        &id
    ));
    let answers = checked(query!(
        "SELECT count(*) AS answers FROM attempts WHERE turn_id = ? AND kind = ? AND outcome = ?",
        &id,
        AttemptKind::Model.as_str(),
        AttemptOutcome::Ok.as_str()
    ));
    Ok(UnfinishedTurn {
        turn,
        calls: calls.all(db, open_call).await?,
        questions: questions.readable(db, "approvals", "id", question).await?,
        answers: usize::try_from(answers.one(db, scalar::<i64>).await?).unwrap_or_default(),
    })
}

fn open_call(row: &SqliteRow) -> Result<OpenCall, StoreError> {
    Ok(OpenCall {
        id: CallId(row.try_get("call_id")?),
        name: row.try_get("name")?,
        reach: if text(row, "state")? == "started" {
            CallReach::Started
        } else {
            CallReach::Proposed
        },
    })
}

fn unreadable_turn(row: &SqliteRow) -> Result<UnreadableTurn, StoreError> {
    let message = |name: &str| -> Result<Option<MessageId>, StoreError> {
        let id: Option<i64> = row.try_get(name)?;
        Ok(id.map(MessageId::from_i64))
    };
    let shown = [message("preview_id")?, message("status_id")?];
    Ok(UnreadableTurn {
        channel: ChannelId::from_i64(row.try_get("channel_id")?),
        reply_to: message("reply_to")?,
        shown: shown.into_iter().flatten().collect(),
    })
}

async fn close(db: &mut SqliteConnection, closing: Closing) -> Result<(), StoreError> {
    let at = now();
    all_may_go_on().execute(db).await?;
    for ending in [
        "UPDATE calls SET state = 'interrupted', ended_at = ? WHERE state IN ('proposed', 'started')
             AND turn_id IN (SELECT id FROM turns WHERE state = 'running')",
        "UPDATE approvals SET decision = 'expired', decided_at = ? WHERE decision IS NULL
             AND turn_id IN (SELECT id FROM turns WHERE state = 'running')",
        concat!(
            "UPDATE turns SET state = 'interrupted', exit = 'interrupted', ended_at = ?, ",
            adds_up!(),
            " WHERE state = 'running'"
        ),
    ] {
        sql(ending).bind(&at).execute(db).await?;
    }
    for (conversation, items) in &closing.histories {
        replace(db, *conversation, items).await?;
    }
    let mut batch = Batch::default();
    for (conversation, session) in &closing.sessions {
        batch.add(query!(
            "UPDATE conversations SET crash_session = ? WHERE id = ?",
            session.to_string(),
            conversation.0
        ));
    }
    for told in closing.told {
        queue(&mut batch, told.channel, None, told.part, told.edits)?;
    }
    batch.run(db).await.map(drop)
}
