//! Messages from people, each stored once, and how far each channel has been read.

use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, query};

use super::Store;
use super::batch::Batch;
use super::codec::{from_json, json, now, report_unreadable};
use super::error::StoreError;
use super::outbox::queue;
use super::part::NewPart;
use super::statement::{Statement, checked, scalar, sql};
use crate::domain::{Attachment, ChannelId, Inbound, MessageId, TurnId};

/// The outcome of a message that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// Stored now, to be handled.
    New,
    /// Stored before: a replay, to be ignored.
    Known,
}

/// The outcome of changing a waiting message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queued {
    /// It still waited; it was changed.
    Changed,
    /// It is already in a turn, or was dropped, or never came.
    NotWaiting,
}

/// How many messages of bots an agent accepted within some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessagesOfBots {
    pub all: u32,
    /// Messages after the latest one of a person.
    pub in_a_row: u32,
}

/// The reason of a message that was dropped because its row cannot be read.
const UNREADABLE: &str = "unreadable";

impl Store {
    /// Stores a message under its Discord id and moves its channel's cursor. Only then may the bot show that it has
    /// seen it.
    pub async fn accept(&self, message: &Inbound) -> Result<Accepted, StoreError> {
        let mut batch = Batch::default();
        batch.add(query!(
            "INSERT INTO inbound (message_id, channel_id, body, state, received_at)
                 VALUES (?, ?, ?, 'new', ?) ON CONFLICT (message_id) DO NOTHING",
            message.id.as_i64(),
            message.channel_id.as_i64(),
            json(message)?,
            now()
        ));
        move_cursor(&mut batch, message.channel_id, message.id);
        let stored = self.run(batch).await?;
        Ok(match stored.first() {
            Some(0) => Accepted::Known,
            _ => Accepted::New,
        })
    }

    /// Marks a message that no turn will take as skipped, with the reason.
    pub async fn skip(&self, message: MessageId, why: &str) -> Result<Queued, StoreError> {
        self.leave_queue(message, "skipped", Some(why.to_owned()))
            .await
    }

    /// Marks a waiting message as skipped, and queues a notice for its author in its channel. Does neither if it no
    /// longer waits.
    pub async fn refuse(
        &self,
        message: MessageId,
        why: &str,
        channel: ChannelId,
        told: NewPart,
    ) -> Result<Queued, StoreError> {
        let mut batch = Batch::default();
        batch
            .add(query!(
                "UPDATE inbound SET state = 'skipped', reason = ? WHERE message_id = ? AND state = 'new'",
                why,
                message.as_i64()
            ))
            .must_change("a message that waits");
        queue(&mut batch, channel, None, told, None)?;
        match self.run(batch).await {
            Err(StoreError::NotFound(_)) => Ok(Queued::NotWaiting),
            refused => refused.map(|_| Queued::Changed),
        }
    }

    /// Removes a message that was deleted while it waited.
    pub async fn drop_queued(&self, message: MessageId) -> Result<Queued, StoreError> {
        self.leave_queue(message, "dropped", None).await
    }

    async fn leave_queue(
        &self,
        message: MessageId,
        state: &'static str,
        why: Option<String>,
    ) -> Result<Queued, StoreError> {
        let mut batch = Batch::default();
        batch.add(query!(
            "UPDATE inbound SET state = ?, reason = ? WHERE message_id = ? AND state = 'new'",
            state,
            why,
            message.as_i64()
        ));
        let left = self.run(batch).await?;
        Ok(match left.first() {
            Some(0) => Queued::NotWaiting,
            _ => Queued::Changed,
        })
    }

    /// Gives a waiting message its edited text, and its files if they are also given.
    pub async fn update_queued(
        &self,
        message: MessageId,
        content: &str,
        attachments: Option<Vec<Attachment>>,
    ) -> Result<Queued, StoreError> {
        let content = content.to_owned();
        self.write(move |db| {
            Box::pin(async move {
                let Some(mut queued) = waiting(message).first(db, body).await? else {
                    return Ok(Queued::NotWaiting);
                };
                queued.content = content;
                queued.attachments = attachments.unwrap_or(queued.attachments);
                checked(query!(
                    "UPDATE inbound SET body = ? WHERE message_id = ?",
                    json(&queued)?,
                    message.as_i64()
                ))
                .execute(db)
                .await?;
                Ok(Queued::Changed)
            })
        })
        .await
    }

    /// Returns the messages that are stored and not yet in a turn, oldest first: at the start they are passed to the
    /// manager again. A message that cannot be read is left out; see [`Self::drop_unreadable`].
    pub async fn unclaimed(&self) -> Result<Vec<Inbound>, StoreError> {
        let query = checked(query!(
            "SELECT message_id, body FROM inbound WHERE state = 'new' ORDER BY message_id"
        ));
        query
            .readable(&mut *self.reader().await?, "inbound", "message_id", body)
            .await
    }

    /// Drops waiting messages that cannot be read; their authors get the notice `words`.
    pub async fn drop_unreadable(&self, words: &str) -> Result<(), StoreError> {
        let query = checked(query!(
            "SELECT message_id, channel_id, body FROM inbound WHERE state = 'new'"
        ));
        let found = query.all(&mut *self.reader().await?, unreadable).await?;
        for (message, channel) in found.into_iter().flatten() {
            let mut told = NewPart::notice(words);
            told.body.reply_to = Some(message);
            let mut batch = Batch::default();
            batch.add(query!(
                "UPDATE inbound SET state = 'dropped', reason = ? WHERE message_id = ?",
                UNREADABLE,
                message.as_i64()
            ));
            queue(&mut batch, channel, None, told, None)?;
            self.run(batch).await?;
        }
        Ok(())
    }

    /// Returns a message that waits for its turn, with its edits; `None` once it was taken, dropped or skipped.
    pub async fn waiting(&self, message: MessageId) -> Result<Option<Inbound>, StoreError> {
        waiting(message)
            .first(&mut *self.reader().await?, body)
            .await
    }

    /// Counts the messages of bots that were accepted in `place` and its threads after `since` and before the message
    /// `until`.
    pub async fn messages_of_bots(
        &self,
        place: ChannelId,
        since: MessageId,
        until: MessageId,
    ) -> Result<MessagesOfBots, StoreError> {
        // The macros cannot determine the type of values in JSON.
        let query = sql(
            "WITH taken (id, is_bot) AS (
                 SELECT message_id, coalesce(json_extract(body, '$.is_from_bot'), 0) FROM inbound
                 WHERE message_id >= ? AND message_id < ? AND json_valid(body)
                     AND CAST(coalesce(json_extract(body, '$.parent_id'), channel_id) AS INTEGER) = ?)
             SELECT count(*), count(*) FILTER (WHERE id > coalesce((SELECT max(id) FROM taken WHERE NOT is_bot), 0))
             FROM taken WHERE is_bot",
        )
        .bind(since.as_i64())
        .bind(until.as_i64())
        .bind(place.as_i64());
        let read = |row: &SqliteRow| {
            Ok(MessagesOfBots {
                all: row.try_get(0)?,
                in_a_row: row.try_get(1)?,
            })
        };
        query.one(&mut *self.reader().await?, read).await
    }

    /// Returns a message of a person in the ledger, in any state.
    pub async fn message(&self, message: MessageId) -> Result<Option<Inbound>, StoreError> {
        let query = checked(query!(
            "SELECT body FROM inbound WHERE message_id = ?",
            message.as_i64()
        ));
        query.first(&mut *self.reader().await?, body).await
    }

    /// Returns the newest message of `channel` that was stored or skipped.
    pub async fn cursor(&self, channel: ChannelId) -> Result<Option<MessageId>, StoreError> {
        let query = checked(query!(
            "SELECT message_id FROM cursors WHERE channel_id = ?",
            channel.as_i64()
        ));
        let id: Option<i64> = query.first(&mut *self.reader().await?, scalar).await?;
        Ok(id.map(MessageId::from_i64))
    }

    /// Returns all cursors, for finding the channels with new messages after the daemon was away.
    pub async fn cursors(&self) -> Result<Vec<(ChannelId, MessageId)>, StoreError> {
        let query = checked(query!("SELECT channel_id, message_id FROM cursors"));
        let cursor = |row: &SqliteRow| {
            Ok((
                ChannelId::from_i64(row.try_get(0)?),
                MessageId::from_i64(row.try_get(1)?),
            ))
        };
        query.all(&mut *self.reader().await?, cursor).await
    }

    /// Moves a channel's cursor past messages that are not for an agent, or too old to be answered.
    pub async fn advance_cursor(
        &self,
        channel: ChannelId,
        message: MessageId,
    ) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        move_cursor(&mut batch, channel, message);
        self.run(batch).await.map(drop)
    }
}

/// Returns a statement that finds the message `id`, if it waits.
fn waiting(id: MessageId) -> Statement {
    checked(query!(
        "SELECT body FROM inbound WHERE message_id = ? AND state = 'new'",
        id.as_i64()
    ))
}

/// Returns the message of a row.
fn body(row: &SqliteRow) -> Result<Inbound, StoreError> {
    from_json(row, "body")
}

/// Returns the message of a row and its channel, if it cannot be read.
fn unreadable(row: &SqliteRow) -> Result<Option<(MessageId, ChannelId)>, StoreError> {
    let Err(error) = body(row) else {
        return Ok(None);
    };
    report_unreadable(row, "inbound", "message_id", &error);
    Ok(Some((
        MessageId::from_i64(row.try_get("message_id")?),
        ChannelId::from_i64(row.try_get("channel_id")?),
    )))
}

/// Moves a cursor, which only goes forward.
pub(super) fn move_cursor(batch: &mut Batch, channel: ChannelId, message: MessageId) {
    batch.add(query!(
        "INSERT INTO cursors (channel_id, message_id) VALUES (?, ?)
             ON CONFLICT (channel_id) DO UPDATE SET message_id = max(message_id, excluded.message_id)",
        channel.as_i64(),
        message.as_i64()
    ));
}

/// Assigns the message `id` to `turn`; not needed for the trigger, which the turn's row names.
pub(super) fn claim(batch: &mut Batch, turn: Option<TurnId>, id: MessageId) {
    batch.add(query!(
        "UPDATE inbound SET state = 'claimed', turn_id = ? WHERE message_id = ?",
        turn.map(|turn| turn.to_string()),
        id.as_i64()
    ));
}

/// Works like [`claim`] for `message` in exactly this version; fails if it was edited, dropped or taken.
pub(super) fn claim_unchanged(
    batch: &mut Batch,
    turn: Option<TurnId>,
    message: &Inbound,
) -> Result<(), StoreError> {
    batch
        .add(query!(
            "UPDATE inbound SET state = 'claimed', turn_id = ?
             WHERE message_id = ? AND state = 'new' AND body = ?",
            turn.map(|turn| turn.to_string()),
            message.id.as_i64(),
            json(message)?
        ))
        .must_change("message as it came");
    Ok(())
}
