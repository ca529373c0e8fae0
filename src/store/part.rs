//! A part of a text for people: a message that waits to be posted, was posted, or may have been.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use super::codec::{from_json, parsed, parsed_option, time, time_option, words};
use super::error::StoreError;
use crate::domain::{ChannelId, MessageId, TurnId, UserId};

/// How long Discord reliably remembers a nonce; it promises "a few minutes".
const NONCE_LIFE: Duration = Duration::from_secs(60);

words! {
    /// The kind of a part, for its appearance and for statistics.
    PartKind {
        Reply = "reply",
        Failure = "failure",
        /// A line about an event.
        Notice = "notice",
        /// A file with its caption.
        File = "file",
    }
}

words! {
    PartState {
        Pending = "pending",
        /// It may have been posted.
        Sending = "sending",
        Sent = "sent",
        /// It is unknown whether it was posted; people were notified.
        Unknown = "unknown",
        /// Discord refused it for good.
        Failed = "failed",
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PartBody {
    /// The text, at most 2,000 characters.
    pub content: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MessageId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<OutFile>,
    /// It makes no sound.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_silent: bool,
    /// The only person whom it may mention.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mention: Option<UserId>,
    /// The step of the turn that these words belong to: its preview may become this message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// A button under it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub button: Option<PartButton>,
    /// Further buttons beside it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further_buttons: Vec<PartButton>,
    /// A menu above the buttons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub menu: Option<PartMenu>,
    /// The question of `ask_person` whose card it is: the id of its message is stored with the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<i64>,
    /// Whether it is about the interruption of its turn: the id of its message is stored with the interruption.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_about: bool,
    /// Whether the thread it is posted in is archived afterwards.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub archives: bool,
}

/// A button under a part, with the id that a press sends and its label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartButton {
    pub id: String,
    pub label: String,
}

impl PartButton {
    pub fn new(id: impl Into<String>, label: &str) -> Self {
        Self {
            id: id.into(),
            label: label.to_owned(),
        }
    }
}

/// A menu under a part, with the id that a choice sends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartMenu {
    pub id: String,
    pub options: Vec<PartOption>,
    /// Whether several of them may be chosen.
    pub several: bool,
}

/// An option of a menu. Its value is its position, from 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartOption {
    pub label: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutFile {
    /// A text, kept whole in the row.
    Text { name: String, text: String },
    /// Bytes in standard Base64, kept whole in the row.
    Bytes { name: String, base64: String },
    /// A file on disk, read when it is sent.
    Path {
        name: String,
        /// Absolute path.
        path: String,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct NewPart {
    pub kind: PartKind,
    pub body: PartBody,
}

impl NewPart {
    /// Creates a line about an event.
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

#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Its row; parts of a channel are sent in this order.
    pub id: i64,
    pub channel: ChannelId,
    /// The turn whose outcome it belongs to.
    pub turn: Option<TurnId>,
    /// Position within its turn, counted from 0.
    pub part: u32,
    pub kind: PartKind,
    pub body: PartBody,
    /// Sent with `enforce_nonce`, the same for every attempt.
    pub nonce: String,
    /// The message that it replaces by an edit; repeating the edit does no harm.
    pub edits: Option<MessageId>,
    pub state: PartState,
    pub message: Option<MessageId>,
    pub queued_at: DateTime<Utc>,
    /// The time of its first attempt (or of the permission for it).
    pub first_try: Option<DateTime<Utc>>,
}

/// How to send a part again that may have been posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resend {
    /// Repeating the edit does no harm, or Discord still knows the nonce.
    Now,
    /// Search the channel first; send it only if it is certainly not there.
    LookFirst,
}

impl Part {
    /// Returns how to send this part again at `now`, if its state is `sending` and no answer came.
    pub fn resend(&self, now: DateTime<Utc>) -> Resend {
        if self.edits.is_some() {
            return Resend::Now;
        }
        // A first attempt in the future means that the clock was set back, so its age is not known.
        let age = self.first_try.map(|tried| (now - tried).to_std());
        match age {
            None => Resend::Now,
            Some(Ok(age)) if age < NONCE_LIFE => Resend::Now,
            Some(_) => Resend::LookFirst,
        }
    }
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
