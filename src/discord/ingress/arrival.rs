//! One thing that happened in a channel.

use serenity::all::{Attachment, Message};

use crate::domain::{GuildId, MessageId};

/// One thing that happened in a channel.
#[derive(Debug)]
pub(in crate::discord) enum Arrival {
    /// A message was written.
    Message(Box<Message>),
    /// A message's text was changed, and perhaps its files.
    Edited(MessageId, String, Option<Vec<Attachment>>),
    /// A message was deleted.
    Deleted(MessageId),
    /// Discord says that there is something newer here than the ledger knows.
    Place(GuildId),
    /// The connection was resumed: look for what the replay may have missed.
    Recheck,
}
