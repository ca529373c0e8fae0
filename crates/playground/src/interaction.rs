//! Interactions: a person runs a command, presses a button or sends a form, and the bot answers. Plain data.

use serde_json::Value;

use chorus_base::discord_ids::{ChannelId, MessageId, UserId};

/// The kind of an interaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Command,
    Component,
    Autocomplete,
    Form,
}

impl Kind {
    /// Returns Discord's number for it.
    pub(crate) const fn number(self) -> u8 {
        match self {
            Self::Command => 2,
            Self::Component => 3,
            Self::Autocomplete => 4,
            Self::Form => 5,
        }
    }
}

/// The bot's answer to an interaction so far.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// No answer.
    Nothing,
    /// "Thinking …": this placeholder is shown until the answer comes.
    Thinking(MessageId),
    /// A message.
    Message(MessageId),
    /// The press was acknowledged; the change comes later.
    Acknowledged,
    /// The message with the button was changed.
    Updated(MessageId),
    /// Values to choose from.
    Choices(Vec<Choice>),
    /// A form to fill in, in Discord's shape.
    Form(Value),
}

/// One suggested value of an option.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The text shown to people.
    pub name: String,
    /// The value that is sent.
    pub value: Value,
}

/// One interaction.
pub(crate) struct Interaction {
    pub(crate) id: u64,
    pub(crate) token: String,
    pub(crate) kind: Kind,
    pub(crate) user: UserId,
    pub(crate) channel: ChannelId,
    /// The message with the component.
    pub(crate) message: Option<MessageId>,
    /// The command as typed, such as `/agent init`.
    pub(crate) words: Option<String>,
    pub(crate) answer: Answer,
    /// Messages that answer it, the first one first.
    pub(crate) replies: Vec<MessageId>,
    /// Whether the time to answer is over.
    pub(crate) is_expired: bool,
}

impl Interaction {
    /// Returns the message that `@original` refers to.
    pub(crate) fn original(&self) -> Option<MessageId> {
        match self.answer {
            Answer::Thinking(id) | Answer::Message(id) | Answer::Updated(id) => Some(id),
            Answer::Acknowledged => self.message,
            Answer::Nothing | Answer::Choices(_) | Answer::Form(_) => None,
        }
    }
}
