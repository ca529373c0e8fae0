//! Messages, reactions and threads of a person; writing one from a test is in `testing`.

use super::person::Person;
use crate::guild::ChannelKind;
use chorus_base::discord_ids::{ChannelId, MessageId};

impl Person {
    /// Changes the text of one of their messages.
    pub fn edits(&self, channel: ChannelId, message: MessageId, text: &str) {
        self.discord.change(|world| {
            world.edit(channel, message, |message| {
                text.clone_into(&mut message.content)
            });
        });
    }

    /// Deletes a message.
    pub fn deletes(&self, channel: ChannelId, message: MessageId) {
        self.discord.change(|world| world.delete(channel, message));
    }

    /// Starts typing.
    pub fn types(&self, channel: ChannelId) {
        self.discord
            .change(|world| world.begin_typing(channel, self.id));
    }

    /// Reacts to a message, or removes the reaction.
    pub fn reacts(&self, channel: ChannelId, message: MessageId, emoji: &str) {
        self.discord
            .change(|world| world.toggle_reaction(channel, message, self.id, emoji));
    }

    /// Opens a thread under a channel, on a message or without one.
    pub fn opens_thread(&self, parent: ChannelId, on: Option<MessageId>, name: &str) -> ChannelId {
        self.discord
            .change(|world| world.add_thread(parent, on, name, ChannelKind::PublicThread, self.id))
    }
}
