//! The visible state of a local Discord: messages, answers, commands, requests, the gateway's log.

use std::time::Instant;

use serde_json::Value;

use super::requests::Request;
use super::view;
use crate::discord::Discord;
use crate::gateway::GatewayEvent;
use crate::guild::{Attachment, Message};
use crate::interaction::Answer;
use chorus_base::discord_ids::{ChannelId, GuildId, MessageId, UserId};

impl Discord {
    /// Returns the messages of a channel in order, including ephemeral ones.
    pub fn messages(&self, channel: ChannelId) -> Vec<Message> {
        self.look(|world| {
            world
                .messages
                .get(&channel)
                .map(|all| all.values().cloned().collect())
                .unwrap_or_default()
        })
    }

    /// Returns every ephemeral message to a user, in order.
    pub fn private_messages(&self, user: UserId) -> Vec<Message> {
        self.look(|world| {
            let all = world.messages.values().flat_map(|channel| channel.values());
            let mut own: Vec<Message> = all
                .filter(|one| one.only_for == Some(user))
                .cloned()
                .collect();
            own.sort_by_key(|message| message.id);
            own
        })
    }

    /// Returns the id of the newest message anywhere.
    pub fn newest_message(&self) -> Option<MessageId> {
        self.look(|world| {
            world
                .messages
                .values()
                .filter_map(|all| all.keys().last().copied())
                .max()
        })
    }

    /// Returns the whole channel as text: authors, messages, embeds, buttons, reactions, ephemeral answers.
    pub fn transcript(&self, channel: ChannelId) -> String {
        self.look(|world| view::channel(world, channel))
    }

    /// Returns one message as text, as in [`Discord::transcript`].
    pub fn shown(&self, message: &Message) -> String {
        self.look(|world| view::message(world, message))
    }

    /// Returns the content of a file on a message.
    pub fn file(&self, attachment: &Attachment) -> Vec<u8> {
        self.look(|world| {
            world
                .files
                .get(&attachment.id)
                .map(|file| file.bytes.to_vec())
                .unwrap_or_default()
        })
    }

    /// Returns how the bot answered an interaction so far.
    pub fn answer_to(&self, interaction: u64) -> Answer {
        self.look(|world| {
            let found = world.interactions.get(&interaction);
            found.map_or(Answer::Nothing, |interaction| interaction.answer.clone())
        })
    }

    /// Returns the messages that answer an interaction, in order, without deleted ones.
    pub fn replies_to(&self, interaction: u64) -> Vec<Message> {
        self.look(|world| {
            let Some(found) = world.interactions.get(&interaction) else {
                return Vec::new();
            };
            let all = found.replies.iter();
            all.filter_map(|id| world.message(found.channel, *id).cloned())
                .collect()
        })
    }

    /// Returns the commands registered for all servers, or for one.
    pub fn commands(&self, guild: Option<GuildId>) -> Vec<Value> {
        self.look(|world| world.commands.get(&guild).cloned().unwrap_or_default())
    }

    /// Returns the channels where the bot started to type, one entry each time.
    pub fn typed(&self) -> Vec<ChannelId> {
        self.look(|world| world.typed.clone())
    }

    /// Returns every REST request so far.
    pub fn requests(&self) -> Vec<Request> {
        self.look(|world| world.desk.book.log.clone())
    }

    /// Returns the requests for routes that do not exist here.
    pub fn unknown_routes(&self) -> Vec<String> {
        self.look(|world| world.desk.book.unknown.clone())
    }

    /// Returns the gateway's events, with times.
    pub fn gateway_log(&self) -> Vec<(Instant, GatewayEvent)> {
        self.look(|world| world.gateway.orders.log.clone())
    }
}
