//! What a person is in the servers: their roles, their name there, and whether the bot may write to them.

use serde_json::json;

use super::person::Person;
use crate::rights::Rights;
use crate::wire;
use chorus_ids::{ChannelId, RoleId};

impl Person {
    /// Gives this person a role by name in every server they are in; it is made when it is missing.
    pub fn gets_role(&self, name: &str, rights: Rights) -> RoleId {
        self.discord.change(|world| {
            let guilds: Vec<_> = world.guilds.keys().copied().collect();
            let mut given = RoleId(0);
            for id in guilds {
                given = world.role(id, name, rights);
                if let Some(member) = world
                    .guilds
                    .get_mut(&id)
                    .and_then(|guild| guild.members.get_mut(&self.id))
                    && !member.roles.contains(&given)
                {
                    member.roles.push(given);
                }
                world.member_event(id, self.id);
            }
            given
        })
    }

    /// Takes a role from this person in every server.
    pub fn loses_role(&self, name: &str) {
        self.discord.change(|world| {
            let guilds: Vec<_> = world.guilds.keys().copied().collect();
            for id in guilds {
                if let Some(guild) = world.guilds.get_mut(&id) {
                    let role = guild
                        .roles
                        .iter()
                        .find(|role| role.name == name)
                        .map(|role| role.id);
                    if let Some(member) = guild.members.get_mut(&self.id) {
                        member.roles.retain(|held| Some(*held) != role);
                    }
                }
                world.member_event(id, self.id);
            }
        });
    }

    /// Has a name of its own in every server.
    pub fn is_called(&self, nick: &str) {
        self.discord.change(|world| {
            let guilds: Vec<_> = world.guilds.keys().copied().collect();
            for id in guilds {
                if let Some(member) = world
                    .guilds
                    .get_mut(&id)
                    .and_then(|guild| guild.members.get_mut(&self.id))
                {
                    member.nick = Some(nick.to_owned());
                }
                world.member_event(id, self.id);
            }
        });
    }

    /// Leaves every server.
    pub fn leaves(&self) {
        self.discord.change(|world| {
            let guilds: Vec<_> = world.guilds.keys().copied().collect();
            for id in guilds {
                let member = world
                    .guilds
                    .get_mut(&id)
                    .and_then(|guild| guild.members.remove(&self.id));
                if member.is_some() {
                    let user = wire::user_by_id(world, self.id);
                    let data = json!({"guild_id": id.to_string(), "user": user});
                    world.dispatch("GUILD_MEMBER_REMOVE", data);
                }
            }
        });
    }

    /// Refuses direct messages from the bot from now on.
    pub fn closes_direct_messages(&self) {
        self.discord.change(|world| {
            if let Some(user) = world.users.get_mut(&self.id) {
                user.closed_to_direct_messages = true;
            }
        });
    }

    /// Their conversation with the bot.
    pub fn direct_messages(&self) -> ChannelId {
        self.discord.change(|world| world.direct(self.id))
    }
}
