//! A tool call from proposal to result, with the question that may come in between.

use chrono::{DateTime, Utc};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, query};

use super::Store;
use super::attached::AttachedRows;
use super::audit::close_call;
use super::batch::Batch;
use super::codec::{now, parsed, parsed_option, stamp, time, words};
use super::error::StoreError;
use super::items::insert_item_of;
use super::statement::{checked, scalar};
use crate::domain::{CallId, ChannelId, Item, MessageId, ToolResult, TurnId, UserId};

/// A question about to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewQuestion {
    pub turn: TurnId,
    pub call: CallId,
    pub channel: ChannelId,
    /// The action string as shown.
    pub action: String,
    /// Hash of exactly the call that is shown and would run.
    pub binding: String,
    /// When no answer counts as a denial.
    pub expires_at: DateTime<Utc>,
}

words! {
    Decision {
        Allow = "allow",
        /// Run it, and the same action from now on.
        AlwaysAllow = "always_allow",
        Deny = "deny",
        /// No answer came in time, or the daemon stopped.
        Expired = "expired",
    }
}

/// The outcome of deciding a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// This decision was stored.
    Now,
    /// It was decided before, in this way.
    Before(Decision),
}

/// A question in the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenQuestion {
    /// Its id; buttons carry it.
    pub id: i64,
    pub asked: NewQuestion,
    /// The message it was asked in, once posted.
    pub message: Option<MessageId>,
    /// Its decision, if it has one.
    pub decision: Option<Decision>,
    pub decided_by: Option<UserId>,
}

impl Store {
    /// Stores the questions about a group of calls before they are shown: all of them, or none. Returns the ids for
    /// their buttons.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::NotFound`] if the turn is not running.
    pub async fn open_questions(
        &self,
        questions: Vec<NewQuestion>,
    ) -> Result<Vec<i64>, StoreError> {
        let mut batch = Batch::default();
        for question in questions {
            batch.add(query!(
                "INSERT INTO approvals (turn_id, call_id, channel_id, action, binding, asked_at, expires_at)
                     SELECT id, ?, ?, ?, ?, ?, ? FROM turns WHERE id = ? AND state = 'running' RETURNING id",
                question.call.0,
                question.channel.as_i64(),
                question.action,
                question.binding,
                now(),
                stamp(question.expires_at),
                question.turn.to_string()
            ))
                .must_change(format!("running turn {}", question.turn));
        }
        self.rows(batch, scalar).await
    }

    /// Stores the id of the message with the question, so that it can be shown as expired after a crash.
    pub async fn set_question_post(
        &self,
        calls: &[i64],
        message: MessageId,
    ) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        for id in calls {
            batch.add(query!(
                "UPDATE approvals SET message_id = ? WHERE id = ?",
                message.as_i64(),
                *id
            ));
        }
        self.run(batch).await.map(drop)
    }

    /// Decides a question, once; the first decision wins.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::NotFound`] for an unknown question.
    pub async fn decide_question(
        &self,
        id: i64,
        decision: Decision,
        by: Option<UserId>,
        attached: AttachedRows,
    ) -> Result<Settled, StoreError> {
        self.write(move |db| {
            Box::pin(async move {
                let decided = checked(query!(
                    "UPDATE approvals SET decision = ?, decided_by = ?, decided_at = ?
                 WHERE id = ? AND decision IS NULL",
                    decision.as_str(),
                    by.map(UserId::as_i64),
                    now(),
                    id
                ))
                .execute(db)
                .await?;
                if decided == 1 {
                    let mut batch = Batch::default();
                    attached.add_to(&mut batch);
                    batch.run(db).await?;
                    return Ok(Settled::Now);
                }
                let before = checked(query!("SELECT decision FROM approvals WHERE id = ?", id))
                    .first(db, |row| parsed(row, "decision"))
                    .await?;
                before
                    .map(Settled::Before)
                    .ok_or_else(|| StoreError::NotFound(format!("question {id}")))
            })
        })
        .await
    }

    /// Replaces the approval of a call with a denial that arrived before the call started.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::NotFound`] if the question was not allowed, or its call has started.
    pub async fn overrule_question(
        &self,
        id: i64,
        by: UserId,
        attached: AttachedRows,
    ) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        attached.add_to(&mut batch);
        batch.add(query!(
            "UPDATE approvals SET decision = ?, decided_by = ?, decided_at = ?
                 WHERE id = ? AND decision IN ('allow', 'always_allow') AND EXISTS
                     (SELECT 1 FROM calls c WHERE c.turn_id = approvals.turn_id AND c.call_id = approvals.call_id
                         AND c.state = 'proposed')",
            Decision::Deny.as_str(),
            by.as_i64(),
            now(),
            id
        ))
            .must_change(format!("allowed question {id}"));
        self.run(batch).await.map(drop)
    }

    /// Returns one question, open or decided, for a press on an old button.
    pub async fn question(&self, id: i64) -> Result<Option<OpenQuestion>, StoreError> {
        let query = checked(query!("SELECT * FROM approvals WHERE id = ?", id));
        query.first(&mut *self.reader().await?, question).await
    }

    /// Marks a call started, before it runs.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::NotFound`] if the call is not proposed, or has already started: it must not run then.
    pub async fn start_call(
        &self,
        turn: TurnId,
        call: &CallId,
        attached: AttachedRows,
    ) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        start_call(&mut batch, turn, call);
        attached.add_to(&mut batch);
        self.run(batch).await.map(drop)
    }

    /// Stores the result of a started call.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::NotFound`] if the call has not started.
    pub async fn finish_call(
        &self,
        turn: TurnId,
        result: &ToolResult,
        attached: AttachedRows,
    ) -> Result<(), StoreError> {
        self.end_call(turn, result, CallEnd::Finished, &attached)
            .await
    }

    /// Stores the result of a started call that ended with `end`.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::NotFound`] if the call has not started.
    pub async fn finish_call_as(
        &self,
        turn: TurnId,
        result: &ToolResult,
        end: CallEnd,
        attached: AttachedRows,
    ) -> Result<(), StoreError> {
        self.end_call(turn, result, end, &attached).await
    }

    /// Marks a call as started that a person runs again: it is not a call of an answer of this turn.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::NotFound`] if the turn is not running.
    pub async fn start_again(
        &self,
        turn: TurnId,
        (call, name, position): (&CallId, &str, u32),
        attached: AttachedRows,
    ) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch
            .add(query!(
                "INSERT INTO calls (turn_id, call_id, position, name, state, started_at)
                 SELECT id, ?, ?, ?, 'started', ? FROM turns WHERE id = ? AND state = 'running'",
                &call.0,
                position,
                name,
                now(),
                turn.to_string()
            ))
            .must_change(format!("running turn {turn}"));
        attached.add_to(&mut batch);
        self.run(batch).await.map(drop)
    }

    /// Stores the result of a call that does not run: refused, denied, cancelled before its start.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::NotFound`] if the call is not proposed.
    pub async fn refuse_call(
        &self,
        turn: TurnId,
        result: &ToolResult,
        attached: AttachedRows,
    ) -> Result<(), StoreError> {
        self.end_call(turn, result, CallEnd::Refused, &attached)
            .await
    }

    async fn end_call(
        &self,
        turn: TurnId,
        result: &ToolResult,
        end: CallEnd,
        attached: &AttachedRows,
    ) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        end_call(&mut batch, turn, result, end)?;
        attached.add_to(&mut batch);
        self.run(batch).await.map(drop)
    }
}

/// How a call ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEnd {
    /// It had started.
    Finished,
    /// It had started, and the daemon's stop ended it: its progress is unknown.
    Interrupted,
    /// It ran again for a person, and a note gives the model its result.
    RanAgain,
    /// It never ran.
    Refused,
}

pub(super) fn start_call(batch: &mut Batch, turn: TurnId, call: &CallId) {
    batch
        .add(query!(
            "UPDATE calls SET state = 'started', started_at = ?
             WHERE turn_id = ? AND call_id = ? AND state = 'proposed'",
            now(),
            turn.to_string(),
            &call.0
        ))
        .must_change(format!("proposed call {call}"));
}

pub(super) fn end_call(
    batch: &mut Batch,
    turn: TurnId,
    result: &ToolResult,
    end: CallEnd,
) -> Result<(), StoreError> {
    let [from, to] = match end {
        CallEnd::Finished | CallEnd::RanAgain => ["started", "finished"],
        CallEnd::Interrupted => ["started", "interrupted"],
        CallEnd::Refused => ["proposed", "refused"],
    };
    batch.add(query!(
        "UPDATE calls SET state = ?, ended_at = ? WHERE turn_id = ? AND call_id = ? AND state = ?",
        to,
        now(),
        turn.to_string(),
        &result.call_id.0,
        from
    ))
        .must_change(format!("{from} call {}", result.call_id));
    if end != CallEnd::Refused {
        close_call(batch, turn, result);
    }
    if end == CallEnd::RanAgain {
        return Ok(());
    }
    insert_item_of(batch, turn, &Item::ToolResult(result.clone()))
}

pub(super) fn question(row: &SqliteRow) -> Result<OpenQuestion, StoreError> {
    Ok(OpenQuestion {
        id: row.try_get("id")?,
        asked: NewQuestion {
            turn: parsed(row, "turn_id")?,
            call: CallId(row.try_get("call_id")?),
            channel: ChannelId::from_i64(row.try_get("channel_id")?),
            action: row.try_get("action")?,
            binding: row.try_get("binding")?,
            expires_at: time(row, "expires_at")?,
        },
        message: row
            .try_get::<Option<i64>, _>("message_id")?
            .map(MessageId::from_i64),
        decision: parsed_option(row, "decision")?,
        decided_by: row
            .try_get::<Option<i64>, _>("decided_by")?
            .map(UserId::from_i64),
    })
}
