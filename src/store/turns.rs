//! D2, D3 and D8: a turn from the message that starts it to its one outcome.

use chrono::{DateTime, Utc};
use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::attempts::insert_attempt;
use super::audit::insert_audit;
use super::calls::start;
use super::codec::{count, counted, json, now, parsed, parsed_option, time, time_option, words};
use super::conversations::touch;
use super::inbound::claim;
use super::items::insert_item;
use super::outbox::{FirstPart, NewPart, Part, queue};
use super::{AttemptRow, AuditRow, Store, StoreError};
use crate::domain::{
    AgentId, Assistant, CallId, ChannelId, ConversationId, Cost, Item, MessageId, TurnId, Usage,
};

/// A turn about to begin.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTurn {
    /// Its id.
    pub id: TurnId,
    /// Whose turn it is.
    pub agent: AgentId,
    /// The conversation it continues.
    pub conversation: ConversationId,
    /// The message that starts it; none for hooks and other agents.
    pub trigger: Option<MessageId>,
    /// The turn that started it, for child turns.
    pub parent: Option<TurnId>,
    /// The first turn of the chain; its own id for a root turn.
    pub origin: TurnId,
    /// Hops of hooks or other agents that led here; a person's turn is 0.
    pub depth: u8,
    /// Where it is shown.
    pub channel: ChannelId,
    /// The message its reply refers to.
    pub reply_to: Option<MessageId>,
}

/// What came of beginning a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    /// It is running now.
    Running,
    /// Another root turn has this trigger: a replay, to be ignored.
    AlreadyTaken,
}

/// What is stored with a step, in its transaction: decisions for the audit log, and what was spent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Alongside {
    /// Rows for the audit log.
    pub audit: Vec<AuditRow>,
    /// Requests and tool runs that ended.
    pub attempts: Vec<AttemptRow>,
}

/// The end of a turn: its outcome decided, before anything of it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishedTurn {
    /// The final answer, when it is not stored yet (D3 and D8 in one).
    pub answer: Option<Assistant>,
    /// Exit reason, one of `docs/models.md`.
    pub exit: String,
    /// Steps done.
    pub steps: u32,
    /// Tokens in all.
    pub usage: Usage,
    /// Money in all.
    pub cost: Cost,
    /// What people are shown, in order. Part 1 takes the place of the turn's preview, if it has one.
    pub parts: Vec<NewPart>,
    /// Whether the first part goes out at once (D8 and D9 in one).
    pub first: FirstPart,
    /// Stored with it.
    pub alongside: Alongside,
}

words! {
    /// Where a turn stands.
    TurnEnd {
        /// It is at work.
        Running = "running",
        /// It has its outcome.
        Finished = "finished",
        /// The daemon stopped under it; recovery gave it its outcome.
        Interrupted = "interrupted",
    }
}

/// A turn as the ledger holds it.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnRow {
    /// What it began with.
    pub begun: NewTurn,
    /// Where it stands.
    pub state: TurnEnd,
    /// Exit reason, once it ended.
    pub exit: Option<String>,
    /// Steps done.
    pub steps: u32,
    /// Tokens in all.
    pub usage: Usage,
    /// Money in all.
    pub cost: Cost,
    /// The message that showed the answer growing.
    pub preview: Option<MessageId>,
    /// Its live status message.
    pub status_post: Option<MessageId>,
    /// When it began.
    pub began_at: DateTime<Utc>,
    /// When it ended.
    pub ended_at: Option<DateTime<Utc>>,
}

impl Store {
    /// D2. Begins a turn with the items that start it; the messages they came in are claimed.
    ///
    /// # Errors
    ///
    /// See [`StoreError`].
    pub async fn begin_turn(&self, turn: NewTurn, items: Vec<Item>) -> Result<Begun, StoreError> {
        self.write(move |db| Box::pin(async move { begin(db, &turn, &items).await }))
            .await
    }

    /// Hands a waiting message to a running turn, whose outcome it shares.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] when the turn does not run (any more): the message starts the next one.
    pub async fn hand_over(
        &self,
        turn: TurnId,
        message: MessageId,
        item: Item,
    ) -> Result<(), StoreError> {
        self.write(move |db| {
            Box::pin(async move {
                let conversation = running(db, turn).await?;
                insert_item(db, conversation, Some(turn), &item).await?;
                claim(db, turn, [message]).await?;
                touch(db, conversation).await
            })
        })
        .await
    }

    /// Adds an item to a running turn's conversation that no person and no model wrote (a hook's finding, a note).
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] when the turn does not run.
    pub async fn add_to_turn(&self, turn: TurnId, item: Item) -> Result<(), StoreError> {
        self.write(move |db| {
            Box::pin(async move {
                let conversation = running(db, turn).await?;
                insert_item(db, conversation, Some(turn), &item).await
            })
        })
        .await
    }

    /// D3. Stores a whole answer of the model; its tool calls are `proposed`.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] when the turn does not run.
    pub async fn record_answer(
        &self,
        turn: TurnId,
        answer: &Assistant,
        alongside: Alongside,
    ) -> Result<(), StoreError> {
        self.record_and_start(turn, answer, Vec::new(), alongside)
            .await
    }

    /// D3 and, in the same transaction, D6 of the calls in `starting`: where nobody is asked, nothing is seen between.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] when the turn does not run, or the answer has no such call.
    pub async fn record_and_start(
        &self,
        turn: TurnId,
        answer: &Assistant,
        starting: Vec<CallId>,
        alongside: Alongside,
    ) -> Result<(), StoreError> {
        let answer = answer.clone();
        self.write(move |db| {
            Box::pin(async move {
                let conversation = running(db, turn).await?;
                store_answer(db, turn, conversation, answer).await?;
                for call in &starting {
                    start(db, turn, call).await?;
                }
                store_alongside(db, &alongside).await
            })
        })
        .await
    }

    /// D8. Gives a turn its outcome: final answer, exit reason and the parts people will be shown, together.
    /// Returns the parts as queued.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] when the turn does not run.
    pub async fn finish_turn(
        &self,
        turn: TurnId,
        end: FinishedTurn,
    ) -> Result<Vec<Part>, StoreError> {
        self.write(move |db| Box::pin(async move { finish(db, turn, end).await }))
            .await
    }

    /// Keeps the id of the message that shows the answer growing, so that it can become part 1 of the reply, or be
    /// put right after a crash.
    ///
    /// # Errors
    ///
    /// See [`StoreError`].
    pub async fn set_preview(&self, turn: TurnId, message: MessageId) -> Result<(), StoreError> {
        self.write(move |db| {
            Box::pin(async move {
                sqlx::query("UPDATE turns SET preview_id = ? WHERE id = ?")
                    .bind(message.as_i64())
                    .bind(turn.to_string())
                    .execute(db)
                    .await?;
                Ok(())
            })
        })
        .await
    }

    /// Keeps the id of a turn's live status message, so that a crash does not leave its buttons behind.
    ///
    /// # Errors
    ///
    /// See [`StoreError`].
    pub async fn set_status_post(
        &self,
        turn: TurnId,
        message: MessageId,
    ) -> Result<(), StoreError> {
        self.write(move |db| {
            Box::pin(async move {
                sqlx::query("UPDATE turns SET status_id = ? WHERE id = ?")
                    .bind(message.as_i64())
                    .bind(turn.to_string())
                    .execute(db)
                    .await?;
                Ok(())
            })
        })
        .await
    }

    /// One turn.
    ///
    /// # Errors
    ///
    /// See [`StoreError`].
    pub async fn turn(&self, id: TurnId) -> Result<Option<TurnRow>, StoreError> {
        let mut db = self.reader().await?;
        let row = sqlx::query("SELECT * FROM turns WHERE id = ?")
            .bind(id.to_string())
            .fetch_optional(&mut *db)
            .await?;
        row.as_ref().map(turn_row).transpose()
    }

    /// The latest turns of a conversation, newest first.
    ///
    /// # Errors
    ///
    /// See [`StoreError`].
    pub async fn turns(
        &self,
        conversation: ConversationId,
        limit: u32,
    ) -> Result<Vec<TurnRow>, StoreError> {
        let mut db = self.reader().await?;
        let rows = sqlx::query(
            "SELECT * FROM turns WHERE conversation_id = ? ORDER BY began_at DESC LIMIT ?",
        )
        .bind(conversation.0)
        .bind(limit)
        .fetch_all(&mut *db)
        .await?;
        rows.iter().map(turn_row).collect()
    }
}

async fn begin(
    db: &mut SqliteConnection,
    turn: &NewTurn,
    items: &[Item],
) -> Result<Begun, StoreError> {
    let done = sqlx::query(
        "INSERT INTO turns (id, agent_id, conversation_id, trigger_id, parent_id, origin_id, depth, channel_id,
             reply_to, state, began_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'running', ?)
         ON CONFLICT (trigger_id) WHERE parent_id IS NULL AND trigger_id IS NOT NULL DO NOTHING",
    )
    .bind(turn.id.to_string())
    .bind(turn.agent.to_string())
    .bind(turn.conversation.0)
    .bind(turn.trigger.map(MessageId::as_i64))
    .bind(turn.parent.map(|id| id.to_string()))
    .bind(turn.origin.to_string())
    .bind(turn.depth)
    .bind(turn.channel.as_i64())
    .bind(turn.reply_to.map(MessageId::as_i64))
    .bind(now())
    .execute(&mut *db)
    .await?;
    if done.rows_affected() == 0 {
        return Ok(Begun::AlreadyTaken);
    }
    for item in items {
        insert_item(db, turn.conversation, Some(turn.id), item).await?;
    }
    claim(db, turn.id, turn.trigger).await?;
    for item in items {
        if let Item::User(text) = item
            && text.message_id != turn.trigger
        {
            claim(db, turn.id, text.message_id).await?;
        }
    }
    touch(db, turn.conversation).await?;
    Ok(Begun::Running)
}

async fn store_answer(
    db: &mut SqliteConnection,
    turn: TurnId,
    conversation: ConversationId,
    answer: Assistant,
) -> Result<(), StoreError> {
    for (position, call) in (0_i64..).zip(&answer.tool_calls) {
        sqlx::query(
            "INSERT INTO calls (turn_id, call_id, position, name, arguments, state)
             VALUES (?, ?, ?, ?, ?, 'proposed')",
        )
        .bind(turn.to_string())
        .bind(&call.id.0)
        .bind(position)
        .bind(&call.name)
        .bind(json(&call.arguments)?)
        .execute(&mut *db)
        .await?;
    }
    insert_item(db, conversation, Some(turn), &Item::Assistant(answer)).await
}

async fn finish(
    db: &mut SqliteConnection,
    turn: TurnId,
    end: FinishedTurn,
) -> Result<Vec<Part>, StoreError> {
    let row = sqlx::query(
        "UPDATE turns SET state = 'finished', exit = ?, steps = ?, input = ?, output = ?, cache_read = ?,
             cache_write = ?, cost_usd = ?, ended_at = ?
         WHERE id = ? AND state = 'running' RETURNING conversation_id, channel_id, preview_id",
    )
    .bind(end.exit)
    .bind(end.steps)
    .bind(count(end.usage.input))
    .bind(count(end.usage.output))
    .bind(count(end.usage.cache_read))
    .bind(count(end.usage.cache_write))
    .bind(dollars(end.cost))
    .bind(now())
    .bind(turn.to_string())
    .fetch_optional(&mut *db)
    .await?;
    let row = row.ok_or_else(|| StoreError::NotFound(format!("running turn {turn}")))?;
    let conversation = ConversationId(row.try_get("conversation_id")?);
    let channel = ChannelId::from_i64(row.try_get("channel_id")?);
    let mut preview = row
        .try_get::<Option<i64>, _>("preview_id")?
        .map(MessageId::from_i64);
    if let Some(answer) = end.answer {
        store_answer(db, turn, conversation, answer).await?;
    }
    store_alongside(db, &end.alongside).await?;
    touch(db, conversation).await?;
    let mut parts = Vec::with_capacity(end.parts.len());
    let mut start = end.first;
    for part in end.parts {
        let edits = preview.take();
        parts.push(queue(db, channel, Some(turn), parts.len(), part, edits, start).await?);
        start = FirstPart::Waits;
    }
    Ok(parts)
}

/// The conversation of a turn that runs.
pub(super) async fn running(
    db: &mut SqliteConnection,
    turn: TurnId,
) -> Result<ConversationId, StoreError> {
    let id: Option<i64> =
        sqlx::query_scalar("SELECT conversation_id FROM turns WHERE id = ? AND state = 'running'")
            .bind(turn.to_string())
            .fetch_optional(db)
            .await?;
    id.map(ConversationId)
        .ok_or_else(|| StoreError::NotFound(format!("running turn {turn}")))
}

pub(super) async fn store_alongside(
    db: &mut SqliteConnection,
    alongside: &Alongside,
) -> Result<(), StoreError> {
    for row in &alongside.audit {
        insert_audit(db, row).await?;
    }
    for row in &alongside.attempts {
        insert_attempt(db, row).await?;
    }
    Ok(())
}

pub(super) const fn dollars(cost: Cost) -> Option<f64> {
    match cost {
        Cost::Usd(dollars) => Some(dollars),
        Cost::Unknown => None,
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
            origin: parsed(row, "origin_id")?,
            depth: row.try_get("depth")?,
            channel: ChannelId::from_i64(row.try_get("channel_id")?),
            reply_to: message("reply_to")?,
        },
        state: parsed(row, "state")?,
        exit: row.try_get("exit")?,
        steps: row.try_get("steps")?,
        usage: Usage {
            input: counted(row, "input")?,
            output: counted(row, "output")?,
            cache_read: counted(row, "cache_read")?,
            cache_write: counted(row, "cache_write")?,
        },
        cost: row
            .try_get::<Option<f64>, _>("cost_usd")?
            .map_or(Cost::Unknown, Cost::Usd),
        preview: message("preview_id")?,
        status_post: message("status_id")?,
        began_at: time(row, "began_at")?,
        ended_at: time_option(row, "ended_at")?,
    })
}
