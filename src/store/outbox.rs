//! D8 and D9: what people will be shown, decided before it is sent, sent once.
//!
//! ```text
//! pending ──mark_sending──▶ sending ──mark_sent──▶ sent
//!                              │ └────mark_failed──▶ failed   (Discord refused it for good)
//!                              └──────mark_unknown─▶ unknown  (it may be there; said, never sent twice)
//! ```

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;
use uuid::Uuid;

use super::codec::{
    from_json, json, now, parsed, parsed_option, report_unreadable, time, time_option, words,
};
use super::script::Script;
use super::{Store, StoreError};
use crate::domain::{ChannelId, MessageId, TurnId};

/// Discord's limit on a nonce, in characters.
const NONCE_LENGTH: usize = 25;

/// How long Discord can be trusted to know a nonce; it promises "a few minutes".
const NONCE_LIFE: Duration = Duration::from_secs(60);

/// Why a part failed that does not read back.
const UNREADABLE: &str = "it does not read back from the database";

words! {
    /// What a part is, for its looks and for statistics.
    PartKind {
        /// Part of an answer.
        Reply = "reply",
        /// A failure report.
        Failure = "failure",
        /// A line about what happened.
        Notice = "notice",
        /// A file with its caption.
        File = "file",
    }
}

words! {
    /// Where a part stands.
    PartState {
        /// Not tried yet.
        Pending = "pending",
        /// It may have been posted.
        Sending = "sending",
        /// Posted.
        Sent = "sent",
        /// Nobody can say whether it was posted; people were told.
        Unknown = "unknown",
        /// Discord refused it for good.
        Failed = "failed",
    }
}

/// Whether the first of several parts is marked `sending` as it is queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstPart {
    /// It goes out at once, unless an older one waits in its channel.
    Sends,
    /// It waits its turn.
    Waits,
}

/// One message to post.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PartBody {
    /// The text, at most 2,000 characters.
    pub content: String,
    /// The message it refers to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MessageId>,
    /// Files posted with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<OutFile>,
    /// An embed in Discord's own shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embed: Option<Value>,
}

/// A file to post.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutFile {
    /// A text, kept whole in the row.
    Text {
        /// Name people see.
        name: String,
        /// The text.
        text: String,
    },
    /// Bytes in standard Base64, kept whole in the row.
    Bytes {
        /// Name people see.
        name: String,
        /// The bytes.
        base64: String,
    },
    /// A file on disk, read when it is sent.
    Path {
        /// Name people see.
        name: String,
        /// Absolute path.
        path: String,
    },
}

/// A part to queue.
#[derive(Clone, Debug, PartialEq)]
pub struct NewPart {
    /// What it is.
    pub kind: PartKind,
    /// What is posted.
    pub body: PartBody,
}

impl NewPart {
    /// A line about what happened.
    pub fn notice(text: impl Into<String>) -> Self {
        Self {
            kind: PartKind::Notice,
            body: PartBody {
                content: text.into(),
                ..PartBody::default()
            },
        }
    }
}

/// A queued part.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Its row; parts of a channel go out in this order.
    pub id: i64,
    /// Where it goes.
    pub channel: ChannelId,
    /// The turn whose outcome it is part of.
    pub turn: Option<TurnId>,
    /// Position within its turn, counted from 0.
    pub part: u32,
    /// What it is.
    pub kind: PartKind,
    /// What is posted.
    pub body: PartBody,
    /// Sent along with `enforce_nonce`, the same for every try.
    pub nonce: String,
    /// The message it takes the place of by an edit; a repeated edit does no harm.
    pub edits: Option<MessageId>,
    /// Where it stands.
    pub state: PartState,
    /// The message it became.
    pub message: Option<MessageId>,
    /// When it was queued.
    pub queued_at: DateTime<Utc>,
    /// When it was first tried (or cleared to be).
    pub first_try: Option<DateTime<Utc>>,
}

/// What is left in a channel's queue when a part was sent.
#[derive(Clone, Debug, PartialEq)]
pub enum Rest {
    /// This one is next.
    Next(Box<Part>),
    /// Nothing waits.
    Nothing,
    /// One waits that does not read back; [`Store::next_parts`] settles it.
    Unreadable,
}

/// What may be done with a part that may have been posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// Send it again: the edit does no harm twice, or Discord still knows the nonce.
    Resend,
    /// Look into the channel first; send it only when it is not there for sure.
    LookFirst,
}

impl Part {
    /// What to do with this part at `now`, when its state is `sending` and no answer came.
    pub fn doubt(&self, now: DateTime<Utc>) -> Doubt {
        if self.edits.is_some() {
            return Doubt::Resend;
        }
        // A first try in the future says that the clock was set back: its age is not known.
        let age = self.first_try.map(|tried| (now - tried).to_std());
        match age {
            None => Doubt::Resend,
            Some(Ok(age)) if age < NONCE_LIFE => Doubt::Resend,
            Some(_) => Doubt::LookFirst,
        }
    }
}

impl Store {
    /// Queues one line for a channel.
    ///
    /// # Errors
    ///
    /// See [`StoreError`].
    pub async fn notice(&self, channel: ChannelId, text: &str) -> Result<Part, StoreError> {
        self.post(channel, None, NewPart::notice(text)).await
    }

    /// Queues a part that is no turn's outcome (a welcome, a file an agent sends, a notice with an embed).
    ///
    /// # Errors
    ///
    /// See [`StoreError`].
    pub async fn post(
        &self,
        channel: ChannelId,
        turn: Option<TurnId>,
        part: NewPart,
    ) -> Result<Part, StoreError> {
        let mut script = Script::default();
        queue(&mut script, channel, turn, part, None)?;
        part_row(self.run(script).await?.row()?)
    }

    /// The parts that wait in a channel, in order, one being sent included; at most 32 at a time. What does not read back
    /// cannot be sent: it fails here, so that what comes after it is.
    ///
    /// # Errors
    ///
    /// See [`StoreError`].
    pub async fn next_parts(&self, channel: ChannelId) -> Result<Vec<Part>, StoreError> {
        let mut db = self.reader().await?;
        let rows = sqlx::query(
            // A limit that is bound has SQLite compile the statement anew each time.
            "SELECT * FROM outbox WHERE channel_id = ? AND state IN ('pending', 'sending') ORDER BY id LIMIT 32",
        )
        .bind(channel.as_i64())
        .fetch_all(&mut *db)
        .await?;
        let mut parts = Vec::with_capacity(rows.len());
        for row in &rows {
            match part_row(row) {
                Ok(part) => parts.push(part),
                Err(error) => {
                    report_unreadable(row, "outbox", "id", &error);
                    self.mark_failed(row.try_get("id")?, UNREADABLE).await?;
                }
            }
        }
        Ok(parts)
    }

    /// The channels that have something waiting.
    ///
    /// # Errors
    ///
    /// See [`StoreError`].
    pub async fn waiting_channels(&self) -> Result<Vec<ChannelId>, StoreError> {
        let mut db = self.reader().await?;
        let ids: Vec<i64> = sqlx::query_scalar(
            "SELECT DISTINCT channel_id FROM outbox WHERE state IN ('pending', 'sending')",
        )
        .fetch_all(&mut *db)
        .await?;
        Ok(ids.into_iter().map(ChannelId::from_i64).collect())
    }

    /// D9, before the POST. The time of the first try is kept. Gives the part as it is now.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] when the part is settled: it must not be sent.
    pub async fn mark_sending(&self, part: i64) -> Result<Part, StoreError> {
        let mut script = Script::default();
        script
            .add(
                "UPDATE outbox SET state = 'sending', first_try = coalesce(first_try, ?)
                 WHERE id = ? AND state IN ('pending', 'sending') RETURNING *",
            )
            .bind(now())
            .bind(part);
        match self.run(script).await?.rows.first() {
            Some(row) => part_row(row),
            None => Err(StoreError::NotFound(format!("unsent part {part}"))),
        }
    }

    /// D9, after the POST. The channel's next part is marked `sending` with it and given, to be posted now.
    ///
    /// # Errors
    ///
    /// See [`StoreError`].
    pub async fn mark_sent(&self, part: i64, message: MessageId) -> Result<Rest, StoreError> {
        let mut script = Script::default();
        script
            .add(
                "UPDATE outbox SET state = 'sent', message_id = ? WHERE id = ? AND state <> 'sent'",
            )
            .bind(message.as_i64())
            .bind(part);
        script
            .add(
                "UPDATE outbox SET state = 'sending', first_try = coalesce(first_try, ?)
                 WHERE id = (SELECT min(w.id) FROM outbox w JOIN outbox s ON s.channel_id = w.channel_id
                             WHERE s.id = ? AND w.state IN ('pending', 'sending'))
                 RETURNING *",
            )
            .bind(now())
            .bind(part);
        let sent = self.run(script).await?;
        Ok(match sent.rows.first().map(part_row) {
            None => Rest::Nothing,
            Some(Ok(next)) => Rest::Next(Box::new(next)),
            // It must not undo the end of the one before it.
            Some(Err(_)) => Rest::Unreadable,
        })
    }

    /// Discord refused the part for good; the reason is kept.
    ///
    /// # Errors
    ///
    /// See [`StoreError`].
    pub async fn mark_failed(&self, part: i64, why: &str) -> Result<(), StoreError> {
        self.settle(part, PartState::Failed, why).await
    }

    /// Nobody can say whether the part was posted; it will not be posted again.
    ///
    /// # Errors
    ///
    /// See [`StoreError`].
    pub async fn mark_unknown(&self, part: i64, why: &str) -> Result<(), StoreError> {
        self.settle(part, PartState::Unknown, why).await
    }

    async fn settle(&self, part: i64, state: PartState, why: &str) -> Result<(), StoreError> {
        let mut script = Script::default();
        script
            .add("UPDATE outbox SET state = ?, reason = ? WHERE id = ? AND state IN ('pending', 'sending')")
            .bind(state.as_str())
            .bind(why)
            .bind(part);
        self.run(script).await.map(drop)
    }
}

/// Queues a part that is no turn's outcome; it takes the place of the message `edits`, if there is one.
pub(super) fn queue(
    script: &mut Script,
    channel: ChannelId,
    turn: Option<TurnId>,
    part: NewPart,
    edits: Option<MessageId>,
) -> Result<(), StoreError> {
    script
        .add(
            "INSERT INTO outbox (channel_id, turn_id, part, kind, body, nonce, edits, state, queued_at)
             VALUES (?, ?, 0, ?, ?, ?, ?, 'pending', ?) RETURNING *",
        )
        .bind(channel.as_i64())
        .bind(turn.map(|turn| turn.to_string()))
        .bind(part.kind.as_str())
        .bind(json(&part.body)?)
        .bind(nonce())
        .bind(edits.map(MessageId::as_i64))
        .bind(now());
    Ok(())
}

/// Queues the parts of `turn`'s outcome. The first takes the place of the turn's preview, and goes out at once if it may
/// and nothing older waits.
pub(super) fn queue_outcome(
    script: &mut Script,
    turn: TurnId,
    parts: Vec<NewPart>,
    first: FirstPart,
) -> Result<(), StoreError> {
    let queued = now();
    for (position, part) in (0_i64..).zip(parts) {
        let leads = position == 0;
        script
            .add(
                "INSERT INTO outbox (part, kind, body, nonce, queued_at, state, first_try, edits, channel_id, turn_id)
                 SELECT ?, ?, ?, ?, ?, iif(goes, 'sending', 'pending'), iif(goes, ?, NULL), iif(?, preview_id, NULL),
                     channel_id, id
                 FROM (SELECT id, channel_id, preview_id, ? AND NOT EXISTS (SELECT 1 FROM outbox
                           WHERE outbox.channel_id = turns.channel_id AND state IN ('pending', 'sending')) AS goes
                       FROM turns WHERE id = ?) RETURNING *",
            )
            .bind(position)
            .bind(part.kind.as_str())
            .bind(json(&part.body)?)
            .bind(nonce())
            .bind(&queued)
            .bind(&queued)
            .bind(leads)
            .bind(leads && first == FirstPart::Sends)
            .bind(turn.to_string());
    }
    Ok(())
}

fn nonce() -> String {
    let mut nonce = Uuid::new_v4().simple().to_string();
    nonce.truncate(NONCE_LENGTH);
    nonce
}

pub(super) fn part_row(row: &SqliteRow) -> Result<Part, StoreError> {
    let message = |name: &str| -> Result<Option<MessageId>, StoreError> {
        Ok(row
            .try_get::<Option<i64>, _>(name)?
            .map(MessageId::from_i64))
    };
    Ok(Part {
        id: row.try_get("id")?,
        channel: ChannelId::from_i64(row.try_get("channel_id")?),
        turn: parsed_option(row, "turn_id")?,
        part: row.try_get("part")?,
        kind: parsed(row, "kind")?,
        body: from_json(row, "body")?,
        nonce: row.try_get("nonce")?,
        edits: message("edits")?,
        state: parsed(row, "state")?,
        message: message("message_id")?,
        queued_at: time(row, "queued_at")?,
        first_try: time_option(row, "first_try")?,
    })
}
