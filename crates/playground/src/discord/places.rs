//! The bot, servers, channels and messages.

use super::Discord;
use crate::guild::{ChannelKind, Message};
use chorus_base::discord_ids::{ChannelId, GuildId, MessageId, UserId};

impl Discord {
    /// Returns the bot's own id, which is also the application's.
    pub fn bot(&self) -> UserId {
        self.look(|world| world.bot)
    }

    /// Returns the first server.
    pub fn guild(&self) -> GuildId {
        self.look(|world| world.guilds.keys().next().copied().unwrap_or(GuildId(0)))
    }

    /// Adds a text channel to a server.
    pub fn add_channel(&self, guild: GuildId, name: &str) -> ChannelId {
        self.change(|world| world.add_channel(guild, name, ChannelKind::Text, None))
    }

    /// Returns the channel or thread with this name, with or without its `#`; the newest if there are several.
    pub fn channel(&self, name: &str) -> Option<ChannelId> {
        let name = name.trim_start_matches('#');
        self.look(|world| {
            let mut all = world.channels.values().rev();
            all.find(|channel| channel.name == name && channel.guild.is_some())
                .map(|one| one.id)
        })
    }

    /// Returns whether this is an archived thread.
    pub fn is_archived(&self, thread: ChannelId) -> bool {
        self.look(|world| {
            let thread = world
                .channels
                .get(&thread)
                .and_then(|one| one.thread.as_ref());
            thread.is_some_and(|thread| thread.archived)
        })
    }

    /// Returns one message.
    pub fn message(&self, channel: ChannelId, id: MessageId) -> Option<Message> {
        self.look(|world| world.message(channel, id).cloned())
    }

    /// Returns whether the bot is connected with a session.
    pub fn is_connected(&self) -> bool {
        self.look(|world| world.gateway.is_connected())
    }
}
