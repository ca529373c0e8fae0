//! Questions of `ask_person`: each is stored before it is shown (Q1), and its only end before the model learns of it
//! (Q2).
//!
//! ```text
//! open ──▶ answered
//!  ├─────▶ expired      nobody answered in time
//!  └─────▶ cancelled    its turn was stopped, or the conversation went on without it
//! ```

use chrono::{DateTime, Utc};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection, query};

use super::Store;
use super::attached::AttachedRows;
use super::batch::Batch;
use super::calls::start_call;
use super::codec::{from_json, json, now, parsed, parsed_option, stamp, time, words};
use super::error::StoreError;
use super::inbound::move_cursor;
use super::outbox::queue;
use super::part::NewPart;
use super::resumes::{InterruptedTurn, ResumeState};
use super::statement::{checked, scalar, sql};
use crate::domain::{
    AgentId, AskedOfPeople, CallId, ChannelId, ConversationId, Inbound, MessageId, TurnId, UserId,
};

/// Most questions of one turn.
pub const MOST_QUESTIONS: u32 = 5;

words! {
    /// How a question ended.
    QuestionOutcome {
        Answered = "answered",
        Expired = "expired",
        Cancelled = "cancelled",
    }
}

/// A question about to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPersonQuestion {
    pub turn: TurnId,
    pub call: CallId,
    pub channel: ChannelId,
    pub body: AskedOfPeople,
    pub expires_at: DateTime<Utc>,
}

/// The outcome of asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PersonAsked {
    /// With the id that its buttons contain.
    Now(i64),
    /// Another question of the run is open.
    AlreadyOpen,
    /// The turn has asked [`MOST_QUESTIONS`].
    TooMany,
}

/// How a question ends.
#[derive(Clone, Debug, PartialEq)]
pub struct PersonQuestionEnd {
    pub outcome: QuestionOutcome,
    /// The text for the model.
    pub answer: Option<String>,
    pub by: Option<UserId>,
    /// Its final card.
    pub card: NewPart,
}

/// The outcome of ending a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PersonQuestionEnded {
    Now,
    /// It had ended before.
    Before,
    /// The message that answers it was stored before.
    Known,
}

/// A question in the ledger.
#[derive(Clone, Debug, PartialEq)]
pub struct PersonQuestionRow {
    /// Its id; buttons carry it.
    pub id: i64,
    pub turn: TurnId,
    pub call: CallId,
    pub channel: ChannelId,
    /// Its card, once posted.
    pub message: Option<MessageId>,
    pub body: AskedOfPeople,
    pub expires_at: DateTime<Utc>,
    /// Its outcome, if it has ended.
    pub outcome: Option<QuestionOutcome>,
    /// The text for the model.
    pub answer: Option<String>,
    pub answered_by: Option<UserId>,
    /// The agent's name, then the roles down to the turn that asks.
    pub path: String,
    /// The root of its run.
    pub run: TurnId,
    /// The conversation of the root.
    pub conversation: ConversationId,
    /// The agent of the root.
    pub agent: AgentId,
}

/// Questions with the roots of their runs; conditions follow.
const QUESTIONS: &str = "SELECT q.*, t.path, r.id AS root_id, r.conversation_id, r.agent_id
     FROM questions q JOIN turns t ON t.id = q.turn_id JOIN turns r ON r.id = t.run_id";

impl Store {
    /// Starts the call of a question and stores the question with its card (Q1). `card` receives the id of the
    /// question.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::NotFound`] if the call is not proposed.
    pub async fn ask_person(
        &self,
        new: NewPersonQuestion,
        attached: AttachedRows,
        card: impl FnOnce(i64) -> NewPart + Send + 'static,
    ) -> Result<PersonAsked, StoreError> {
        self.write(move |db| {
            Box::pin(async move {
                let turn = new.turn.to_string();
                let asked: i64 = checked(query!(
                    "SELECT count(*) AS asked FROM questions WHERE turn_id = ?",
                    &turn
                ))
                .one(db, scalar)
                .await?;
                if asked >= i64::from(MOST_QUESTIONS) {
                    return Ok(PersonAsked::TooMany);
                }
                let open: i64 = checked(query!(
                    "SELECT count(*) AS open FROM questions q JOIN turns t ON t.id = q.turn_id JOIN turns r ON r.id = t.run_id
                     WHERE q.outcome IS NULL AND r.conversation_id = (SELECT root.conversation_id FROM turns own
                         JOIN turns root ON root.id = own.run_id WHERE own.id = ?)",
                    &turn
                ))
                .one(db, scalar)
                .await?;
                if open > 0 {
                    return Ok(PersonAsked::AlreadyOpen);
                }
                let id: i64 = checked(query!(
                    "INSERT INTO questions (turn_id, call_id, channel_id, body, asked_at, expires_at)
                     VALUES (?, ?, ?, ?, ?, ?) RETURNING id",
                    &turn,
                    &new.call.0,
                    new.channel.as_i64(),
                    json(&new.body)?,
                    now(),
                    stamp(new.expires_at)
                ))
                .one(db, scalar)
                .await?;
                let mut batch = Batch::default();
                start_call(&mut batch, new.turn, &new.call);
                attached.add_to(&mut batch);
                queue(&mut batch, new.channel, Some(new.turn), card(id), None)?;
                batch.run(db).await?;
                Ok(PersonAsked::Now(id))
            })
        })
        .await
    }

    /// Returns one question, open or not.
    pub async fn person_question(&self, id: i64) -> Result<Option<PersonQuestionRow>, StoreError> {
        let query = sql(format!("{QUESTIONS} WHERE q.id = ?")).bind(id);
        query
            .first(&mut *self.reader().await?, person_question)
            .await
    }

    /// Returns all open questions.
    pub async fn open_person_questions(&self) -> Result<Vec<PersonQuestionRow>, StoreError> {
        let query = sql(format!("{QUESTIONS} WHERE q.outcome IS NULL ORDER BY q.id"));
        query
            .readable(
                &mut *self.reader().await?,
                "questions",
                "id",
                person_question,
            )
            .await
    }

    /// Returns the questions of a run with an end that its model does not know, because the daemon stopped first.
    pub async fn untold_person_questions(
        &self,
        run: TurnId,
    ) -> Result<Vec<PersonQuestionRow>, StoreError> {
        let query = sql(format!(
            "{QUESTIONS} JOIN calls c ON c.turn_id = q.turn_id AND c.call_id = q.call_id
             WHERE (t.id = ? OR (t.run_id = ? AND t.kind <> 'turn')) AND c.state = 'interrupted' ORDER BY q.id"
        ));
        let query = query.bind(run.to_string()).bind(run.to_string());
        query
            .readable(
                &mut *self.reader().await?,
                "questions",
                "id",
                person_question,
            )
            .await
    }

    /// Ends a question (Q2), and updates its card. The first end counts.
    pub async fn end_person_question(
        &self,
        id: i64,
        end: PersonQuestionEnd,
    ) -> Result<PersonQuestionEnded, StoreError> {
        self.write(move |db| Box::pin(async move { end_question(db, id, end).await }))
            .await
    }

    /// Ends it by a message of a person, which is stored with it and begins or joins no turn.
    pub async fn answer_by_message(
        &self,
        id: i64,
        message: Inbound,
        end: PersonQuestionEnd,
    ) -> Result<PersonQuestionEnded, StoreError> {
        self.write(move |db| {
            Box::pin(async move {
                let known: i64 = checked(query!(
                    "SELECT count(*) AS known FROM inbound WHERE message_id = ?",
                    message.id.as_i64()
                ))
                .one(db, scalar)
                .await?;
                if known > 0 {
                    return Ok(PersonQuestionEnded::Known);
                }
                let ended = end_question(db, id, end).await?;
                if ended != PersonQuestionEnded::Now {
                    return Ok(ended);
                }
                let mut batch = Batch::default();
                batch.add(query!(
                    "INSERT INTO inbound (message_id, channel_id, body, state, received_at, turn_id)
                     SELECT ?, ?, ?, 'claimed', ?, turn_id FROM questions WHERE id = ?",
                    message.id.as_i64(),
                    message.channel_id.as_i64(),
                    json(&message)?,
                    now(),
                    id
                ));
                move_cursor(&mut batch, message.channel_id, message.id);
                batch.run(db).await?;
                Ok(ended)
            })
        })
        .await
    }

    /// Stores the id of a question's card.
    pub async fn set_person_question_message(
        &self,
        id: i64,
        message: MessageId,
    ) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch.add(query!(
            "UPDATE questions SET message_id = ? WHERE id = ?",
            message.as_i64(),
            id
        ));
        self.run(batch).await.map(drop)
    }

    /// Posts the card of an open question again after its message was deleted. Does nothing if the question has ended.
    pub async fn post_person_question_again(
        &self,
        question: &PersonQuestionRow,
        card: NewPart,
    ) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch
            .add(query!(
                "UPDATE questions SET message_id = NULL WHERE id = ? AND outcome IS NULL",
                question.id
            ))
            .must_change(format!("open question {}", question.id));
        queue(
            &mut batch,
            question.channel,
            Some(question.turn),
            card,
            None,
        )?;
        match self.run(batch).await {
            Err(StoreError::NotFound(_)) => Ok(()),
            done => done.map(drop),
        }
    }

    /// Makes an interrupted turn wait for the end of its question, which comes no earlier than `not_before`.
    pub async fn wait_for_answer(
        &self,
        row: &InterruptedTurn,
        not_before: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        let run = row.turn.begun.id.to_string();
        batch.add(query!(
            "UPDATE resumes SET state = ? WHERE turn_id = ? AND state IN ('waiting', 'question')",
            ResumeState::Question.as_str(),
            &run
        ));
        batch.add(query!(
            "UPDATE questions SET expires_at = max(expires_at, ?) WHERE outcome IS NULL
                 AND turn_id IN (SELECT id FROM turns WHERE id = ? OR (run_id = ? AND kind <> 'turn'))",
            stamp(not_before),
            &run,
            &run
        ));
        self.run(batch).await.map(drop)
    }

    /// Stops the wait of an interrupted turn for its question: whether it continues is decided again.
    pub async fn stop_waiting_for_answer(&self, turn: TurnId) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch.add(query!(
            "UPDATE resumes SET state = ? WHERE turn_id = ? AND state = 'question'",
            ResumeState::Waiting.as_str(),
            turn.to_string()
        ));
        self.run(batch).await.map(drop)
    }
}

async fn end_question(
    db: &mut SqliteConnection,
    id: i64,
    end: PersonQuestionEnd,
) -> Result<PersonQuestionEnded, StoreError> {
    let place = checked(query!(
        "UPDATE questions SET outcome = ?, answer = ?, answered_by = ?, answered_at = ? WHERE id = ? AND outcome IS NULL
         RETURNING channel_id, message_id",
        end.outcome.as_str(),
        end.answer,
        end.by.map(UserId::as_i64),
        now(),
        id
    ))
    .first(db, |row| {
        let channel = ChannelId::from_i64(row.try_get("channel_id")?);
        let message: Option<i64> = row.try_get("message_id")?;
        Ok((channel, message.map(MessageId::from_i64)))
    })
    .await?;
    let Some((channel, message)) = place else {
        return Ok(PersonQuestionEnded::Before);
    };
    let mut batch = Batch::default();
    match message {
        Some(card) => queue(&mut batch, channel, None, end.card, Some(card))?,
        // It waits to be posted, or is being posted; the sender checks again.
        None => {
            batch.add(query!(
                "UPDATE outbox SET body = ? WHERE channel_id = ? AND state = 'pending' AND json_extract(body, '$.question') = ?",
                json(&end.card.body)?,
                channel.as_i64(),
                id
            ));
        }
    }
    batch.run(db).await?;
    Ok(PersonQuestionEnded::Now)
}

fn person_question(row: &SqliteRow) -> Result<PersonQuestionRow, StoreError> {
    let message: Option<i64> = row.try_get("message_id")?;
    let by: Option<i64> = row.try_get("answered_by")?;
    Ok(PersonQuestionRow {
        id: row.try_get("id")?,
        turn: parsed(row, "turn_id")?,
        call: CallId(row.try_get("call_id")?),
        channel: ChannelId::from_i64(row.try_get("channel_id")?),
        message: message.map(MessageId::from_i64),
        body: from_json(row, "body")?,
        expires_at: time(row, "expires_at")?,
        outcome: parsed_option(row, "outcome")?,
        answer: row.try_get("answer")?,
        answered_by: by.map(UserId::from_i64),
        path: row
            .try_get::<Option<String>, _>("path")?
            .unwrap_or_default(),
        run: parsed(row, "root_id")?,
        conversation: ConversationId(row.try_get("conversation_id")?),
        agent: parsed(row, "agent_id")?,
    })
}
