//! The roles of a person in servers.

use super::person::Person;
use crate::rights::Rights;
use chorus_base::discord_ids::{ChannelId, RoleId};

impl Person {
    /// Gives this person a role by name in every server they are in; a missing role is created.
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

    /// Removes a role from this person in every server.
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

    /// Returns their direct conversation with the bot.
    pub fn direct_messages(&self) -> ChannelId {
        self.discord.change(|world| world.direct(self.id))
    }
}
