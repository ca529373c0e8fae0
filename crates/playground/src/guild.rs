//! The parts of a Discord: servers, roles, members, channels, messages. Plain data.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::rights::Rights;
use chorus_base::discord_ids::{ChannelId, GuildId, MessageId, RoleId, UserId};

/// Largest file that the local Discord accepts: 10 MiB, as for a server without boosts.
pub(crate) const FILE_LIMIT: usize = 10 * 1024 * 1024;

/// A user account.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct User {
    pub(crate) id: UserId,
    pub(crate) name: String,
    pub(crate) is_bot: bool,
    /// Whether direct messages from the bot are refused, as users can choose.
    pub(crate) closed_to_direct_messages: bool,
}

/// A server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Guild {
    pub(crate) id: GuildId,
    pub(crate) name: String,
    pub(crate) owner: UserId,
    /// The first one is `@everyone`; its id is the server's.
    pub(crate) roles: Vec<Role>,
    pub(crate) members: BTreeMap<UserId, Member>,
}

impl Guild {
    /// Returns whether the user is a member.
    pub(crate) fn holds(&self, user: UserId) -> bool {
        self.members.contains_key(&user)
    }
}

/// A role of a server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Role {
    pub(crate) id: RoleId,
    pub(crate) name: String,
    pub(crate) rights: Rights,
    pub(crate) colour: u32,
    /// Whether the bot got the role through its invitation.
    #[serde(default)]
    pub(crate) is_managed: bool,
}

/// A member of a server.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Member {
    pub(crate) roles: Vec<RoleId>,
    pub(crate) nick: Option<String>,
}

/// The kind of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChannelKind {
    /// For text.
    Text,
    /// Between one person and the bot.
    Direct,
    /// A heading over channels.
    Category,
    /// A thread that everyone can see.
    PublicThread,
    /// A thread by invitation.
    PrivateThread,
}

impl ChannelKind {
    /// Returns Discord's number for it.
    pub(crate) const fn number(self) -> u8 {
        match self {
            Self::Text => 0,
            Self::Direct => 1,
            Self::Category => 4,
            Self::PublicThread => 11,
            Self::PrivateThread => 12,
        }
    }

    /// Returns the kind with Discord's number, if it exists here.
    pub(crate) const fn from_number(number: u64) -> Option<Self> {
        match number {
            0 => Some(Self::Text),
            1 => Some(Self::Direct),
            4 => Some(Self::Category),
            11 => Some(Self::PublicThread),
            12 => Some(Self::PrivateThread),
            _ => None,
        }
    }

    /// Returns whether it belongs to a text channel.
    pub const fn is_thread(self) -> bool {
        matches!(self, Self::PublicThread | Self::PrivateThread)
    }
}

/// A channel, a category, a thread or a direct conversation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Channel {
    pub(crate) id: ChannelId,
    pub(crate) kind: ChannelKind,
    /// `None` for a direct conversation.
    pub(crate) guild: Option<GuildId>,
    /// A category over a channel, or the channel over a thread.
    pub(crate) parent: Option<ChannelId>,
    pub(crate) name: String,
    pub(crate) topic: Option<String>,
    pub(crate) position: u16,
    pub(crate) overwrites: Vec<Overwrite>,
    pub(crate) last_message: Option<MessageId>,
    pub(crate) thread: Option<ThreadState>,
    /// The person at the other end of a direct conversation.
    pub(crate) recipient: Option<UserId>,
}

/// The additional state of threads.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ThreadState {
    pub(crate) owner: UserId,
    pub(crate) archived: bool,
    pub(crate) locked: bool,
    pub(crate) auto_archive_minutes: u64,
    pub(crate) members: Vec<UserId>,
}

/// The target of an overwrite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum OverwriteOf {
    Role(RoleId),
    Member(UserId),
}

/// Permissions granted or denied in one channel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Overwrite {
    pub(crate) of: OverwriteOf,
    pub(crate) allow: Rights,
    pub(crate) deny: Rights,
}

/// A message, as Discord stores it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Message {
    /// Its id, which contains the time it was sent.
    pub id: MessageId,
    /// Its channel.
    pub channel: ChannelId,
    /// Its author.
    pub author: UserId,
    /// The author's name.
    pub author_name: String,
    /// Its text.
    pub content: String,
    /// Embeds, in Discord's shape.
    pub embeds: Vec<Value>,
    /// Rows of components, in Discord's shape.
    pub components: Vec<Value>,
    /// Files.
    pub attachments: Vec<Attachment>,
    /// The message it replies to.
    pub reply_to: Option<MessageId>,
    /// Reactions, in the order they came.
    pub reactions: Vec<Reaction>,
    /// Discord's flags: 4 embeds suppressed, 64 ephemeral, 128 loading.
    pub flags: u64,
    /// When it was last edited.
    pub edited: Option<DateTime<Utc>>,
    /// The only user who can see it.
    pub only_for: Option<UserId>,
    /// The users it notifies: `@everyone` or names.
    pub pings: Vec<String>,
    /// The command it answers, such as `/agent init`.
    pub command: Option<String>,
    /// The thread that was opened on it.
    pub thread: Option<ChannelId>,
    /// How often it was edited.
    pub edits: usize,
    pub(crate) kind: u8,
    pub(crate) nonce: Option<Value>,
    pub(crate) interaction: Option<(u64, UserId)>,
}

/// A file on a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// Its id.
    pub id: u64,
    /// Name.
    pub name: String,
    /// MIME type.
    pub content_type: String,
    /// Size in bytes.
    pub size: usize,
}

/// A file that can be downloaded.
#[derive(Clone)]
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) content_type: String,
    pub(crate) bytes: bytes::Bytes,
}

/// A message about to be posted.
#[derive(Default)]
pub(crate) struct Draft {
    pub(crate) content: String,
    pub(crate) embeds: Vec<Value>,
    pub(crate) components: Vec<Value>,
    pub(crate) attachments: Vec<Attachment>,
    pub(crate) reply_to: Option<MessageId>,
    pub(crate) flags: u64,
    pub(crate) only_for: Option<UserId>,
    pub(crate) allowed_mentions: Option<Value>,
    pub(crate) nonce: Option<Value>,
    /// The interaction it answers, the user who started it, and the command's words.
    pub(crate) interaction: Option<(u64, UserId, Option<String>)>,
    /// When it was sent, for messages from the past.
    pub(crate) at: Option<DateTime<Utc>>,
}

/// One kind of reaction on a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reaction {
    /// The emoji itself, or `name:id` of a custom one.
    pub emoji: String,
    /// The users who reacted, in order.
    pub by: Vec<UserId>,
}
