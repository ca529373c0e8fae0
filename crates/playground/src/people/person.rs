//! A user of the local Discord, found or created by name.

use crate::discord::Discord;
use crate::guild::Member;
use chorus_base::discord_ids::{GuildId, UserId};

/// A user of the local Discord.
#[derive(Clone, Debug)]
pub struct Person {
    pub(crate) discord: Discord,
    /// Their id.
    pub id: UserId,
    /// Their name.
    pub name: String,
}

/// Why an action is not possible, in a sentence for the person.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(String);

impl<S: Into<String>> From<S> for Refusal {
    fn from(sentence: S) -> Self {
        Self(sentence.into())
    }
}

impl Discord {
    /// Returns the user with this name, or creates one as a plain member of every server.
    pub fn user(&self, name: &str) -> Person {
        let id = self.change(|world| {
            let known = world
                .users
                .values()
                .find(|user| user.name == name && !user.is_bot);
            if let Some(user) = known {
                return user.id;
            }
            let id = world.add_user(name);
            let guilds: Vec<GuildId> = world.guilds.keys().copied().collect();
            for guild in guilds {
                if let Some(guild) = world.guilds.get_mut(&guild) {
                    guild.members.insert(id, Member::default());
                }
                world.member_event(guild, id);
            }
            id
        });
        Person {
            discord: self.clone(),
            id,
            name: name.to_owned(),
        }
    }

    /// Adds a server owned by `owner`.
    pub fn add_guild(&self, name: &str, owner: &Person) -> GuildId {
        self.change(|world| world.add_guild(name, owner.id))
    }
}
