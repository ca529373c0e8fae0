//! A message from a person, as the ledger keeps it.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::ids::{ChannelId, GuildId, MessageId, RoleId, TurnId, UserId};
use super::marks::{LINE_ENDS, as_name};

/// One message to an agent that reached the daemon.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inbound {
    /// Its Discord id: the primary key, so that a repeated message is stored once.
    pub id: MessageId,
    /// The channel or thread it was written in.
    pub channel_id: ChannelId,
    /// The server of that channel.
    pub guild_id: GuildId,
    /// The channel above, when `channel_id` is a thread.
    pub parent_id: Option<ChannelId>,
    /// Its author, with the rights they had then.
    pub author: Person,
    pub content: String,
    pub attachments: Vec<Attachment>,
    pub reply_to: Option<MessageId>,
    /// The message it replies to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<Quote>,
    /// When Discord received it.
    pub sent_at: DateTime<Utc>,
    /// Its origin, if no person wrote it in the channel by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Via>,
    /// Whether a webhook posted it: its author is not a member and has no role.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_from_webhook: bool,
    /// Whether a program wrote it: a bot or a webhook.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_from_bot: bool,
}

/// A message that a person replied to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quote {
    /// Name of its author; `None` if that is the agent itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    pub at: DateTime<Utc>,
    /// Its beginning; `None` if it was deleted or Discord does not send it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl Quote {
    /// Returns the quote as a model reads it, each line after a `>`: nothing in it can pass for the words of the person
    /// who replies, or for a note.
    pub fn for_model(&self) -> String {
        let at = self.at.format("%Y-%m-%d %H:%M UTC");
        let Some(text) = &self.text else {
            return format!("[in reply to a message of {at} that was deleted or cannot be read]\n");
        };
        let who = match &self.author {
            Some(name) => format!("\"{}\"", as_name(name)),
            None => "you".to_owned(),
        };
        let mut quote = format!("[in reply to what {who} wrote on {at}]\n");
        for line in text.replace("\r\n", "\n").split(LINE_ENDS) {
            quote.push_str("> ");
            quote.push_str(line);
            quote.push('\n');
        }
        quote
    }
}

/// The origin of a message that another turn caused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Via {
    /// Hops of hooks and agents since a person spoke.
    pub depth: u32,
    /// The turn that caused it.
    pub parent: TurnId,
}

impl Via {
    /// Returns the origin one hop after the turn `parent`, which is `hops` hops away from a person.
    pub const fn after(parent: TurnId, hops: u32) -> Self {
        Self {
            depth: hops + 1,
            parent,
        }
    }
}

/// A member of a server at one moment; rights are read again for each decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    pub id: UserId,
    /// Name shown in the server; untrusted until rendered.
    pub name: String,
    pub roles: Vec<RoleId>,
    /// Holds Administrator (the server's owner does).
    pub is_administrator: bool,
    /// Holds Manage Server.
    pub may_manage_server: bool,
}

/// A person behind a turn, at the moment of a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Participant {
    /// A member, with their current roles.
    Member(Person),
    /// No longer a member, or Discord could not tell: they have no rights at all.
    Unknown(UserId),
}

/// The author of a text, as the transcript keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    pub id: UserId,
    /// Name shown when it was written; untrusted until rendered.
    pub name: String,
}

impl From<&Person> for Author {
    fn from(person: &Person) -> Self {
        Self {
            id: person.id,
            name: person.name.clone(),
        }
    }
}

/// A file that came with a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attachment {
    /// Discord's name for it; untrusted until checked.
    pub name: String,
    /// Size in bytes, as reported by Discord.
    pub size: u64,
    /// MIME type, as reported by Discord.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,
    /// The path it was saved to, relative to the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_as: Option<String>,
}
