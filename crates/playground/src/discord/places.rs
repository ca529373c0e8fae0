//! What exists: the bot, servers, channels, messages.

use super::Discord;
use crate::guild::{ChannelKind, Message};
use chorus_base::discord_ids::{ChannelId, GuildId, MessageId, UserId};

impl Discord {
    /// The bot's own id, which is the application's id too.
    pub fn bot(&self) -> UserId {
        self.look(|world| world.bot)
    }

    /// The first server.
    pub fn guild(&self) -> GuildId {
        self.look(|world| world.guilds.keys().next().copied().unwrap_or(GuildId(0)))
    }

    /// Adds a text channel to a server.
    pub fn add_channel(&self, guild: GuildId, name: &str) -> ChannelId {
        self.change(|world| world.add_channel(guild, name, ChannelKind::Text, None))
    }

    /// The channel or thread with this name, with or without its `#`; the newest when several have it.
    pub fn channel(&self, name: &str) -> Option<ChannelId> {
        let name = name.trim_start_matches('#');
        self.look(|world| {
            let mut all = world.channels.values().rev();
            all.find(|channel| channel.name == name && channel.guild.is_some())
                .map(|one| one.id)
        })
    }

    /// Whether this is a thread that is archived.
    pub fn is_archived(&self, thread: ChannelId) -> bool {
        self.look(|world| {
            let thread = world
                .channels
                .get(&thread)
                .and_then(|one| one.thread.as_ref());
            thread.is_some_and(|thread| thread.archived)
        })
    }

    /// One message.
    pub fn message(&self, channel: ChannelId, id: MessageId) -> Option<Message> {
        self.look(|world| world.message(channel, id).cloned())
    }

    /// Whether the bot is connected with a session.
    pub fn is_connected(&self) -> bool {
        self.look(|world| world.gateway.is_connected())
    }
}
