//! Messages written while we were away: which channels to read, and which of their messages still count. Pure.

use chrono::{DateTime, Duration, Utc};

use crate::domain::{ChannelId, MessageId};

/// How much of the past is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Messages older than this are skipped.
    pub max_age: Duration,
    /// At most this many messages of one channel, the newest.
    pub max_messages: usize,
}

/// A channel with a conversation, as the gateway describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub channel: ChannelId,
    /// Its newest message, as far as Discord knows.
    pub last_message: Option<MessageId>,
    /// The newest message of it in the ledger.
    pub cursor: Option<MessageId>,
}

/// Returns the id after which reading must begin; `None` if nothing was missed. A channel without a cursor is read from
/// its beginning.
pub fn read_after(place: &Place) -> Option<MessageId> {
    let seen = place.cursor.unwrap_or(MessageId(place.channel.0));
    match place.last_message {
        Some(last) if last > seen => Some(seen),
        Some(_) | None => None,
    }
}

/// The treatment of the messages that were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// These are taken, oldest first.
    pub take: Vec<MessageId>,
    /// These are skipped: too old, or too many.
    pub skip: Vec<MessageId>,
}

/// Divides the messages of one channel, which may come in any order.
pub fn plan(mut messages: Vec<MessageId>, bounds: Bounds, now: DateTime<Utc>) -> Plan {
    messages.sort_unstable();
    messages.dedup();
    let oldest = now - bounds.max_age;
    let too_old = messages.partition_point(|message| message.sent_at() < oldest);
    let too_many = messages.len().saturating_sub(bounds.max_messages);
    let take = messages.split_off(too_old.max(too_many));
    Plan {
        take,
        skip: messages,
    }
}

/// Returns the line that reports skipped messages.
pub fn skipped_line(skipped: usize, bounds: Bounds) -> String {
    let messages = match skipped {
        1 => "1 message was".to_owned(),
        count => format!("{count} messages were"),
    };
    format!(
        "-# {messages} sent while I was offline and will not be answered (older than {} h, or more than the newest {}). Please send again what still matters.",
        bounds.max_age.num_hours(),
        bounds.max_messages
    )
}
