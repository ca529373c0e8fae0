//! What an unclean stop left behind, and closing it in one transaction.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use rusqlite::{Connection, Row};

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
use super::statement::{scalar, sql};
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

/// How far an unfinished call came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallReach {
    Proposed,
    /// It ran, nobody knows how far.
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

/// A running turn whose row cannot be read: all that is known is whom to tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableTurn {
    pub channel: ChannelId,
    /// The message it answers.
    pub reply_to: Option<MessageId>,
    /// Its messages: a preview, a live status.
    pub shown: Vec<MessageId>,
}

/// Everything that is to be cleaned up at the start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unfinished {
    /// Turns that were running, oldest first.
    pub turns: Vec<UnfinishedTurn>,
    /// Those of which nothing more is known.
    pub unreadable: Vec<UnreadableTurn>,
    /// Open conversations that hold items, by id.
    pub conversations: Vec<ConversationRow>,
    /// Parts marked `sending`, in order: it is not known whether they were posted.
    pub doubts: Vec<Part>,
}

/// How to close what was unfinished; all of it or nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Closing {
    /// Conversations whose history was repaired, with their new items.
    pub histories: BTreeMap<ConversationId, Vec<Item>>,
    /// Conversations to be saved as `crash_recovery`, each with the id that its session will have, so that a save which
    /// another crash interrupts is recognised.
    pub sessions: BTreeMap<ConversationId, SessionId>,
    pub told: Vec<Told>,
}

/// Something that people are told about what was unfinished.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    pub channel: ChannelId,
    /// Our message that it replaces: a question, a preview, a live status.
    pub edits: Option<MessageId>,
    pub part: NewPart,
}

impl Store {
    /// The channels of turns that were interrupted since then, and of the latest turns in any state: a crash may have left
    /// messages in them whose ids were not stored yet.
    pub async fn unsettled_channels(
        &self,
        since: DateTime<Utc>,
    ) -> Result<Vec<ChannelId>, StoreError> {
        let query = sql(
            "WITH cut AS (SELECT id, channel_id FROM turns WHERE state = 'interrupted' AND ended_at > ?
                 UNION SELECT id, channel_id FROM (SELECT id, channel_id FROM turns ORDER BY rowid DESC LIMIT 16))
             SELECT channel_id FROM cut
             UNION SELECT approvals.channel_id FROM approvals JOIN cut ON cut.id = approvals.turn_id",
        )
        .bind(stamp(since));
        self.read(move |db| query.all(db, |row| scalar(row).map(ChannelId::from_i64)))
            .await
    }

    /// What the last stop left behind; nothing after an orderly one.
    pub async fn unfinished(&self) -> Result<Unfinished, StoreError> {
        self.read(left_behind).await
    }

    /// Closes what was unfinished, all of it in one transaction, so that a second run finds nothing left to close: every
    /// turn that is marked as running, readable or not, becomes `interrupted`; its open calls and questions end with it.
    pub async fn close_unfinished(&self, closing: Closing) -> Result<(), StoreError> {
        self.write(move |db| close(db, closing)).await
    }

    /// Notes that the session of an interrupted conversation is saved, with its first `items` items.
    pub async fn crash_session_saved(
        &self,
        conversation: ConversationId,
        items: u64,
    ) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch
            .add(
                "UPDATE conversations SET saved_as = coalesce(crash_session, saved_as), crash_session = NULL,
                     saved_items = max(saved_items, ?) WHERE id = ?",
            )
            .bind(count(items))
            .bind(conversation.0);
        self.run(batch).await.map(drop)
    }
}

fn left_behind(db: &Connection) -> Result<Unfinished, StoreError> {
    let mut found = Unfinished::default();
    let running = sql("SELECT * FROM turns WHERE state = 'running' ORDER BY began_at, id");
    running.each(db, |row| {
        match turn_row(row) {
            Ok(turn) => found.turns.push(unfinished_turn(db, turn)?),
            Err(error) => {
                report_unreadable(row, "turns", "id", &error);
                found.unreadable.push(unreadable_turn(row)?);
            }
        }
        Ok(())
    })?;
    let open = sql(format!(
        "SELECT * FROM ({SELECT} WHERE c.closed_at IS NULL) WHERE items > 0 ORDER BY id"
    ));
    found.conversations = open.readable(db, "conversations", "id", conversation)?;
    // In the words of its index, which SQLite does not infer from the second condition.
    let doubts = sql(
        "SELECT * FROM outbox WHERE state IN ('pending', 'sending') AND state = 'sending' ORDER BY id",
    );
    found.doubts = doubts.readable(db, "outbox", "id", part_row)?;
    Ok(found)
}

fn unfinished_turn(db: &Connection, turn: TurnRow) -> Result<UnfinishedTurn, StoreError> {
    let id = turn.begun.id.to_string();
    let calls = "SELECT call_id, name, state FROM calls
         WHERE turn_id = ? AND state IN ('proposed', 'started') ORDER BY position";
    let calls = sql(calls).bind(&id);
    let questions =
        sql("SELECT * FROM approvals WHERE turn_id = ? AND decision IS NULL ORDER BY id").bind(&id);
    let answers =
        sql("SELECT count(*) FROM attempts WHERE turn_id = ? AND kind = ? AND outcome = ?")
            .bind(&id)
            .bind(AttemptKind::Model.as_str())
            .bind(AttemptOutcome::Ok.as_str());
    Ok(UnfinishedTurn {
        turn,
        calls: calls.all(db, open_call)?,
        questions: questions.readable(db, "approvals", "id", question)?,
        answers: usize::try_from(answers.one(db, scalar::<i64>)?).unwrap_or_default(),
    })
}

fn open_call(row: &Row<'_>) -> Result<OpenCall, StoreError> {
    Ok(OpenCall {
        id: CallId(row.get("call_id")?),
        name: row.get("name")?,
        reach: if text(row, "state")? == "started" {
            CallReach::Started
        } else {
            CallReach::Proposed
        },
    })
}

fn unreadable_turn(row: &Row<'_>) -> Result<UnreadableTurn, StoreError> {
    let message = |name: &str| -> Result<Option<MessageId>, StoreError> {
        let id: Option<i64> = row.get(name)?;
        Ok(id.map(MessageId::from_i64))
    };
    let shown = [message("preview_id")?, message("status_id")?];
    Ok(UnreadableTurn {
        channel: ChannelId::from_i64(row.get("channel_id")?),
        reply_to: message("reply_to")?,
        shown: shown.into_iter().flatten().collect(),
    })
}

fn close(db: &Connection, closing: Closing) -> Result<(), StoreError> {
    let at = now();
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
        sql(ending).bind(&at).execute(db)?;
    }
    for (conversation, items) in &closing.histories {
        replace(db, *conversation, items)?;
    }
    let mut batch = Batch::default();
    for (conversation, session) in &closing.sessions {
        batch
            .add("UPDATE conversations SET crash_session = ? WHERE id = ?")
            .bind(session.to_string())
            .bind(conversation.0);
    }
    for told in closing.told {
        queue(&mut batch, told.channel, None, told.part, told.edits)?;
    }
    batch.run(db).map(drop)
}
