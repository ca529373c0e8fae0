//! The messages for people, decided before they are sent, and sent once.
//!
//! ```text
//! pending ──mark_sending──▶ sending ──mark_sent──▶ sent
//!                              │ └────mark_failed──▶ failed   (Discord refused it for good)
//!                              └──────mark_unknown─▶ unknown  (it may be there; said, never sent twice)
//! ```

use sqlx::{Row as _, query};
use uuid::Uuid;

use super::Store;
use super::batch::Batch;
use super::codec::{json, now, report_unreadable};
use super::error::StoreError;
use super::part::{NewPart, Part, PartState, part_row};
use super::settings::put_meta;
use super::statement::{checked, scalar};
use crate::domain::{ChannelId, MessageId, TurnId};

/// Discord's limit on a nonce, in characters.
const NONCE_LENGTH: usize = 25;

/// Why a part with an unreadable row failed.
const UNREADABLE: &str = "it does not read back from the database";

/// Whether the first of several parts is marked `sending` as it is queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstPart {
    /// It is sent at once, unless an older one waits in its channel.
    Sends,
    /// It waits its turn.
    Waits,
}

/// The head of a channel's queue after a part was sent.
#[derive(Clone, Debug, PartialEq)]
pub enum NextPart {
    Next(Box<Part>),
    Nothing,
    /// The next one cannot be read; [`Store::next_parts`] removes it.
    Unreadable,
}

impl Store {
    /// Queues one line for a channel.
    pub async fn notice(&self, channel: ChannelId, text: &str) -> Result<Part, StoreError> {
        self.post(channel, None, NewPart::notice(text)).await
    }

    /// Queues the same, and stores a fact of the daemon (key and value): that people are notified.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError`]; then they are not notified.
    pub async fn notice_of(
        &self,
        channel: ChannelId,
        text: &str,
        fact: (&str, &str),
    ) -> Result<(), StoreError> {
        self.post_of(channel, NewPart::notice(text), fact).await
    }

    /// Queues a part that is not a turn's outcome, and stores a fact of the daemon with it.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError`]; then neither is done.
    pub async fn post_of(
        &self,
        channel: ChannelId,
        part: NewPart,
        fact: (&str, &str),
    ) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        queue(&mut batch, channel, None, part, None)?;
        put_meta(&mut batch, fact);
        self.run(batch).await.map(drop)
    }

    /// Queues a part that is not a turn's outcome (a welcome, a file an agent sends, a notice with an embed).
    pub async fn post(
        &self,
        channel: ChannelId,
        turn: Option<TurnId>,
        part: NewPart,
    ) -> Result<Part, StoreError> {
        let mut batch = Batch::default();
        queue(&mut batch, channel, turn, part, None)?;
        self.row(batch, part_row).await
    }

    /// Returns the waiting parts of a channel, in order, including one that is being sent; at most 32 at a time. A part
    /// that cannot be read cannot be sent either: it is marked as failed here, so that later parts can be sent.
    pub async fn next_parts(&self, channel: ChannelId) -> Result<Vec<Part>, StoreError> {
        let query = checked(query!(
            // With a bound limit SQLite would compile the statement again each time.
            "SELECT * FROM outbox WHERE channel_id = ? AND state IN ('pending', 'sending') ORDER BY id LIMIT 32",
            channel.as_i64()
        ));
        let (mut parts, mut unreadable) = (Vec::new(), Vec::new());
        for row in query.rows(&mut *self.reader().await?).await? {
            match part_row(&row) {
                Ok(part) => parts.push(part),
                Err(error) => {
                    report_unreadable(&row, "outbox", "id", &error);
                    unreadable.push(row.try_get("id")?);
                }
            }
        }
        for part in unreadable {
            self.mark_failed(part, UNREADABLE).await?;
        }
        Ok(parts)
    }

    /// Returns whether a part replaces, or replaced, this message.
    pub async fn is_edited_by_a_part(&self, message: MessageId) -> Result<bool, StoreError> {
        let query = checked(query!(
            "SELECT id FROM outbox WHERE edits = ? LIMIT 1",
            message.as_i64()
        ));
        let found = query
            .first(&mut *self.reader().await?, scalar::<i64>)
            .await?;
        Ok(found.is_some())
    }

    /// Returns the channels with waiting parts.
    pub async fn waiting_channels(&self) -> Result<Vec<ChannelId>, StoreError> {
        let query = checked(query!(
            "SELECT DISTINCT channel_id FROM outbox WHERE state IN ('pending', 'sending')"
        ));
        query
            .all(&mut *self.reader().await?, |row| {
                scalar(row).map(ChannelId::from_i64)
            })
            .await
    }

    /// Marks a part as about to be posted. The time of the first attempt is stored. Returns the part in its current
    /// state.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::NotFound`] if the part is done: it must not be sent.
    pub async fn mark_sending(&self, part: i64) -> Result<Part, StoreError> {
        match self.sending(part).await? {
            Some(part) => part,
            None => Err(StoreError::NotFound(format!("unsent part {part}"))),
        }
    }

    /// Marks a part as `sending`, even if its row cannot be read; `None` if the part is done.
    async fn sending(&self, part: i64) -> Result<Option<Result<Part, StoreError>>, StoreError> {
        let mut batch = Batch::default();
        batch.add(query!(
            "UPDATE outbox SET state = 'sending', first_try = coalesce(first_try, ?)
                 WHERE id = ? AND state IN ('pending', 'sending') RETURNING *",
            now(),
            part
        ));
        Ok(self.rows(batch, |row| Ok(part_row(row))).await?.pop())
    }

    /// Stores that a part is about to replace the message `shown`.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::NotFound`] if the part is done: it must not be sent.
    pub async fn take_place_of(&self, part: i64, shown: MessageId) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch
            .add(query!(
                "UPDATE outbox SET edits = ? WHERE id = ? AND state IN ('pending', 'sending')",
                shown.as_i64(),
                part
            ))
            .must_change(format!("unsent part {part}"));
        self.run(batch).await.map(drop)
    }

    /// Marks a part as posted. The channel's next part is marked `sending` and returned, to be posted now.
    ///
    /// The mark itself needs no fsync: if a power cut undoes it, the part is `sending`, and recovery searches for it in
    /// the channel.
    pub async fn mark_sent(&self, part: i64, message: MessageId) -> Result<NextPart, StoreError> {
        let mut batch = Batch::default();
        batch.add(query!(
            "UPDATE outbox SET state = 'sent', message_id = ? WHERE id = ? AND state <> 'sent'",
            message.as_i64(),
            part
        ));
        batch.add(query!(
            "SELECT min(w.id) AS next FROM outbox w JOIN outbox s ON s.channel_id = w.channel_id
                 WHERE s.id = ? AND w.state IN ('pending', 'sending')",
            part
        ));
        let next: Option<i64> = self.row(batch.unsynced(), scalar).await?;
        let next = match next {
            Some(next) => self.sending(next).await?,
            None => None,
        };
        Ok(match next {
            None => NextPart::Nothing,
            Some(Ok(next)) => NextPart::Next(Box::new(next)),
            // The end of the previous part must not be undone.
            Some(Err(_)) => NextPart::Unreadable,
        })
    }

    /// Marks a part that Discord refused for good; the reason is stored.
    pub async fn mark_failed(&self, part: i64, why: &str) -> Result<(), StoreError> {
        self.settle(part, PartState::Failed, why).await
    }

    /// Marks a part that may have been posted; it will not be posted again.
    pub async fn mark_unknown(&self, part: i64, why: &str) -> Result<(), StoreError> {
        self.settle(part, PartState::Unknown, why).await
    }

    async fn settle(&self, part: i64, state: PartState, why: &str) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch.add(query!(
            "UPDATE outbox SET state = ?, reason = ? WHERE id = ? AND state IN ('pending', 'sending')",
            state.as_str(),
            why,
            part
        ));
        self.run(batch).await.map(drop)
    }
}

/// Queues a part that is not a turn's outcome; it replaces the message `edits`, if one is given.
pub(super) fn queue(
    batch: &mut Batch,
    channel: ChannelId,
    turn: Option<TurnId>,
    part: NewPart,
    edits: Option<MessageId>,
) -> Result<(), StoreError> {
    batch.add(query!(
        "INSERT INTO outbox (channel_id, turn_id, part, kind, body, nonce, edits, state, queued_at)
             VALUES (?, ?, 0, ?, ?, ?, ?, 'pending', ?) RETURNING *",
        channel.as_i64(),
        turn.map(|turn| turn.to_string()),
        part.kind.as_str(),
        json(&part.body)?,
        nonce(),
        edits.map(MessageId::as_i64),
        now()
    ));
    Ok(())
}

/// Queues the words of `turn`: its outcome, or text before its calls. The first part is sent at once if that is allowed
/// and nothing older waits.
pub(super) fn queue_of_turn(
    batch: &mut Batch,
    turn: TurnId,
    parts: Vec<NewPart>,
    first: FirstPart,
) -> Result<(), StoreError> {
    let queued = now();
    for (position, part) in (0_i64..).zip(parts) {
        let leads = position == 0;
        batch.add(query!(
            "INSERT INTO outbox (part, kind, body, nonce, queued_at, state, first_try, channel_id, turn_id)
                 SELECT ?, ?, ?, ?, ?, iif(goes, 'sending', 'pending'), iif(goes, ?, NULL), channel_id, id
                 FROM (SELECT id, channel_id, ? AND NOT EXISTS (SELECT 1 FROM outbox
                           WHERE outbox.channel_id = turns.channel_id AND state IN ('pending', 'sending')) AS goes
                       FROM turns WHERE id = ?) RETURNING *",
            position,
            part.kind.as_str(),
            json(&part.body)?,
            nonce(),
            &queued,
            &queued,
            leads && first == FirstPart::Sends,
            turn.to_string()
        ));
    }
    Ok(())
}

pub(super) fn nonce() -> String {
    let mut nonce = Uuid::new_v4().simple().to_string();
    nonce.truncate(NONCE_LENGTH);
    nonce
}
