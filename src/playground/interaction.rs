//! Interactions: a person runs a command, presses a button or sends a form, and the bot answers.

use serde_json::{Value, json};

use super::wire;
use super::world::World;
use crate::domain::{ChannelId, GuildId, MessageId, UserId};

/// What began an interaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Command,
    Component,
    Autocomplete,
    Form,
}

impl Kind {
    const fn number(self) -> u8 {
        match self {
            Self::Command => 2,
            Self::Component => 3,
            Self::Autocomplete => 4,
            Self::Form => 5,
        }
    }
}

/// How the bot answered an interaction so far.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Not at all.
    Nothing,
    /// "Thinking …": this placeholder is shown until the answer comes.
    Thinking(MessageId),
    /// By a message.
    Message(MessageId),
    /// The press was taken; what it changes comes later.
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
    /// What people see.
    pub name: String,
    /// What is sent.
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
    /// The time to answer is over.
    pub(crate) is_expired: bool,
}

impl Interaction {
    /// The message that `@original` means.
    pub(crate) fn original(&self) -> Option<MessageId> {
        match self.answer {
            Answer::Thinking(id) | Answer::Message(id) | Answer::Updated(id) => Some(id),
            Answer::Acknowledged => self.message,
            Answer::Nothing | Answer::Choices(_) | Answer::Form(_) => None,
        }
    }
}

impl World {
    /// Begins an interaction and sends it to the bot.
    pub(crate) fn interact(
        &mut self,
        kind: Kind,
        user: UserId,
        channel: ChannelId,
        message: Option<MessageId>,
        words: Option<String>,
        data: Value,
    ) -> u64 {
        let id = self.next_id();
        let token = format!("interaction-{id}");
        let mut event = json!({
            "id": id.to_string(),
            "application_id": self.bot.to_string(),
            "type": kind.number(),
            "token": token,
            "version": 1,
            "data": data,
            "channel_id": channel.to_string(),
            "channel": wire::interaction_channel(self, channel, user),
            "locale": "en-US",
            "entitlements": [],
            "authorizing_integration_owners": {},
            "context": 1,
            "attachment_size_limit": super::rest::FILE_LIMIT,
            "app_permissions": self.rights(channel, self.bot).0.to_string(),
        });
        match wire::interaction_member(self, channel, user) {
            Some(member) => {
                let guild = wire::guild_of(self, channel).map_or(GuildId(0), |guild| guild.id);
                event["member"] = member;
                event["guild_id"] = json!(guild.to_string());
                event["guild_locale"] = json!("en-US");
            }
            None => {
                event["user"] = wire::user_by_id(self, user);
                event["context"] = json!(2);
            }
        }
        if let Some(source) = message.and_then(|id| self.message(channel, id)) {
            event["message"] = wire::message(self, source);
        }
        self.interactions.insert(
            id,
            Interaction {
                id,
                token,
                kind,
                user,
                channel,
                message,
                words,
                answer: Answer::Nothing,
                replies: Vec::new(),
                is_expired: false,
            },
        );
        self.dispatch("INTERACTION_CREATE", event);
        id
    }

    /// Notes how the bot answered, and tells that person's page.
    pub(crate) fn answered(&mut self, id: u64, answer: Answer) {
        let Some(interaction) = self.interactions.get_mut(&id) else {
            return;
        };
        let shown = match &answer {
            Answer::Choices(choices) => {
                let list: Vec<Value> = choices
                    .iter()
                    .map(|choice| json!({"name": choice.name, "value": choice.value}))
                    .collect();
                json!({"choices": list})
            }
            Answer::Form(form) => json!({"form": form}),
            Answer::Nothing
            | Answer::Thinking(_)
            | Answer::Message(_)
            | Answer::Acknowledged
            | Answer::Updated(_) => json!({}),
        };
        interaction.answer = answer;
        let user = interaction.user;
        self.tell(
            Some(user),
            json!({"t": "answer", "interaction": id.to_string(), "d": shown}),
        );
    }
}
