//! Servers and channels of a local Discord, and what the bot may do in them.

use serde_json::{Value, json};

use super::Discord;
use crate::domain::{ChannelId, GuildId, UserId};
use crate::playground::guild::{ChannelKind, Overwrite, OverwriteOf};
use crate::playground::rights::Rights;
use crate::playground::wire;

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

    /// Names of the channels of a server, categories and threads among them, in order.
    pub fn channel_names(&self, guild: GuildId) -> Vec<String> {
        self.look(|world| {
            let own = world
                .channels
                .values()
                .filter(|channel| channel.guild == Some(guild));
            own.map(|channel| channel.name.clone()).collect()
        })
    }

    /// The topic of a channel.
    pub fn topic(&self, channel: ChannelId) -> Option<String> {
        self.look(|world| world.channels.get(&channel)?.topic.clone())
    }

    /// Takes rights from the bot in one channel.
    pub fn denies_bot(&self, channel: ChannelId, rights: Rights) {
        let bot = self.bot();
        self.denies(channel, bot, rights);
    }

    /// Takes rights from somebody in one channel.
    pub fn denies(&self, channel: ChannelId, user: UserId, rights: Rights) {
        self.change(|world| {
            if let Some(found) = world.channels.get_mut(&channel) {
                let of = OverwriteOf::Member(user);
                found.overwrites.push(Overwrite {
                    of,
                    allow: Rights::default(),
                    deny: rights,
                });
            }
            world.channel_event("CHANNEL_UPDATE", channel);
        });
    }

    /// Takes rights from the bot in the whole server.
    pub fn takes_from_bot(&self, rights: Rights) {
        self.change(|world| {
            for guild in world.guilds.values_mut() {
                for role in guild.roles.iter_mut().filter(|role| role.name == "Chorus") {
                    role.rights = Rights(role.rights.0 & !rights.0);
                }
            }
            let updated: Vec<(GuildId, Value)> = world
                .guilds
                .values()
                .flat_map(|guild| wire::roles(guild).into_iter().map(|role| (guild.id, role)))
                .collect();
            for (guild, role) in updated {
                let data = json!({"guild_id": guild.to_string(), "role": role});
                world.dispatch("GUILD_ROLE_UPDATE", data);
            }
        });
    }
}
