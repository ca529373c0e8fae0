//! Servers, channels and rights, changed from outside.

use serde_json::{Value, json};

use crate::discord::Discord;
use crate::guild::{Member, Overwrite, OverwriteOf};
use crate::people::Person;
use crate::rights::Rights;
use crate::wire;
use crate::world::World;
use chorus_base::discord_ids::{ChannelId, GuildId, UserId};

impl Discord {
    /// Adds another bot to every server.
    pub fn other_bot(&self, name: &str) -> Person {
        let person = self.user(name);
        self.change(|world| {
            if let Some(user) = world.users.get_mut(&person.id) {
                user.is_bot = true;
            }
        });
        person
    }

    /// Removes the bot from a server.
    pub fn kicks_bot(&self, guild: GuildId) {
        self.change(|world| world.take_bot_out(guild));
    }

    /// Invites the bot to a server again.
    pub fn invites_bot(&self, guild: GuildId) {
        self.change(|world| world.put_bot_in(guild));
    }

    /// Returns whether the bot is in a server.
    pub fn holds_bot(&self, guild: GuildId) -> bool {
        self.look(|world| {
            let found = world.guilds.get(&guild);
            found.is_some_and(|guild| guild.holds(world.bot))
        })
    }

    /// Gives a server to another user, who becomes a member.
    pub fn gives_guild(&self, guild: GuildId, owner: UserId) {
        self.change(|world| {
            let Some(found) = world.guilds.get_mut(&guild) else {
                return;
            };
            found.owner = owner;
            found.members.entry(owner).or_default();
            let data = wire::guild(found);
            world.dispatch("GUILD_UPDATE", data);
        });
    }

    /// Gives the application to a team of these members and of one invited user who has not accepted.
    pub fn gives_application_to_team(&self, members: &[UserId], invited: UserId) {
        self.change(|world| world.team = [members, &[invited]].concat());
    }

    /// Gives the application to another owner.
    pub fn gives_application(&self, owner: UserId) {
        self.change(|world| world.application_owner = owner);
    }

    /// Lets anyone invite the bot from now on.
    pub fn opens_bot_to_the_public(&self) {
        self.change(|world| world.is_public = true);
    }

    /// Shows people of a server commands that are not registered there, as an outdated client does.
    pub fn shows_commands(&self, guild: GuildId, commands: Vec<Value>) {
        self.change(|world| world.show_commands(Some(guild), commands));
    }

    /// Shows people of every server commands that are not registered there.
    pub fn shows_commands_everywhere(&self, commands: Vec<Value>) {
        self.change(|world| world.show_commands(None, commands));
    }

    /// Returns the names of a server's channels, including categories and threads, in order.
    pub fn channel_names(&self, guild: GuildId) -> Vec<String> {
        self.look(|world| {
            let own = world
                .channels
                .values()
                .filter(|channel| channel.guild == Some(guild));
            own.map(|channel| channel.name.clone()).collect()
        })
    }

    /// Returns the topic of a channel.
    pub fn topic(&self, channel: ChannelId) -> Option<String> {
        self.look(|world| world.channels.get(&channel)?.topic.clone())
    }

    /// Denies the bot permissions in one channel.
    pub fn denies_bot(&self, channel: ChannelId, rights: Rights) {
        let bot = self.bot();
        self.denies(channel, bot, rights);
    }

    /// Denies a user permissions in one channel.
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

    /// Removes permissions from the bot in the whole server.
    pub fn takes_from_bot(&self, rights: Rights) {
        self.change(|world| {
            for guild in world.guilds.values_mut() {
                for role in guild.roles.iter_mut().filter(|role| role.is_managed) {
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

impl World {
    /// Shows people these commands, in one server or everywhere.
    fn show_commands(&mut self, guild: Option<GuildId>, mut commands: Vec<Value>) {
        for command in &mut commands {
            command["id"] = json!(self.next_id().to_string());
        }
        self.commands.insert(guild, commands);
    }

    /// Adds the bot to a server, as an invitation does.
    fn put_bot_in(&mut self, id: GuildId) {
        let bot = self.bot;
        if let Some(guild) = self.guilds.get_mut(&id) {
            let roles = guild.roles.iter().filter(|role| role.is_managed);
            let roles = roles.map(|role| role.id).collect();
            guild.members.insert(bot, Member { roles, nick: None });
        }
        let data = wire::guild_create(self, id);
        self.dispatch("GUILD_CREATE", data);
        self.tell(None, json!({"t": "reload"}));
    }
}
