//! Members as they are at the moment their rights are checked.

use async_trait::async_trait;
use chrono::DateTime;
use serenity::all::{ChannelType, Guild, GuildChannel, Permissions};
use serenity::cache::GuildRef;

use super::Bot;
use crate::agent::Members;
use crate::clock;
use crate::discord::people;
use crate::discord::rest::RestError;
use crate::discord::rest::explain::{self, Operation};
use crate::discord::rest::route;
use crate::domain::{ChannelId, GuildId, Person, RoleId, UserId};

/// Discord's code for a user who is not a member.
const UNKNOWN_MEMBER: u64 = 10_007;
/// Discord's code for a user who does not exist.
const UNKNOWN_USER: u64 = 10_013;

#[async_trait]
impl Members for Bot {
    /// Asks Discord for a person, since the cache learns of changed roles only from messages; falls back to the cache.
    async fn person(&self, guild: GuildId, user: UserId) -> Option<Person> {
        let answer = self.rest.call(route::member(guild, user)).await;
        let answer = match answer {
            Ok(answer) => Some(answer),
            Err(error) if is_no_member(&error) => return None,
            Err(_) => None,
        };
        let server = self.server(guild)?;
        let Some(member) = answer else {
            let member = server.members.get(&serenity::all::UserId::new(user.0))?;
            return Some(people::person_of(&server, member));
        };
        let roles: Vec<serenity::all::RoleId> =
            serde_json::from_value(member["roles"].clone()).ok()?;
        let name = [
            &member["nick"],
            &member["user"]["global_name"],
            &member["user"]["username"],
        ]
        .into_iter()
        .find_map(|name| name.as_str())
        .unwrap_or_default();
        Some(people::person(&server, user.0, name, &roles))
    }

    async fn has_left(&self, guild: GuildId, user: UserId) -> bool {
        let answer = self.rest.call(route::member(guild, user)).await;
        answer.is_err_and(|error| is_no_member(&error))
    }

    fn knows(&self, guild: GuildId) -> bool {
        self.server(guild).is_some()
    }

    fn has_channel(&self, guild: GuildId, channel: ChannelId) -> Option<bool> {
        let server = self.server(guild)?;
        let id = serenity::all::ChannelId::new(channel.0.max(1));
        Some(server.channels.contains_key(&id))
    }

    fn sees(&self, guild: GuildId, person: &Person, channel: ChannelId) -> bool {
        self.in_text_channel(guild, channel, |server, channel| {
            people::person_sees(server, channel, person)
        })
    }

    fn all_see(&self, guild: GuildId, from: ChannelId, to: ChannelId) -> bool {
        self.in_text_channel(guild, to, |server, to| {
            let from = server
                .channels
                .get(&serenity::all::ChannelId::new(from.0.max(1)));
            from.is_some_and(|from| people::all_see(server, from, to))
        })
    }

    async fn manages_channels(&self, guild: GuildId, user: UserId, channel: ChannelId) -> bool {
        let Ok(member) = self.rest.call(route::member(guild, user)).await else {
            return false;
        };
        let timed_out = member["communication_disabled_until"].as_str();
        let timed_out = timed_out.and_then(|until| DateTime::parse_from_rfc3339(until).ok());
        if member["user"]["bot"].as_bool() == Some(true)
            || timed_out.is_some_and(|until| until > clock::now())
        {
            return false;
        }
        let roles = serde_json::from_value::<Vec<serenity::all::RoleId>>(member["roles"].clone());
        let Ok(roles) = roles else {
            return false;
        };
        let roles: Vec<RoleId> = roles.iter().map(|role| RoleId(role.get())).collect();
        self.in_text_channel(guild, channel, |server, channel| {
            let rights = people::rights_in(server, channel, user, &roles);
            rights.administrator() || rights.manage_channels()
        })
    }
}

fn is_no_member(error: &RestError) -> bool {
    matches!(error.code(), Some(UNKNOWN_MEMBER | UNKNOWN_USER))
}

impl Bot {
    /// Returns a server as the gateway has described it.
    pub(in crate::discord) fn server(&self, guild: GuildId) -> Option<GuildRef<'_>> {
        self.cache().guild(guild.0)
    }

    /// Returns whether Discord has described the server to us: not between a new session and its description, and not
    /// in an outage.
    pub(in crate::discord) fn knows(&self, guild: GuildId) -> bool {
        self.server(guild).is_some()
    }

    /// Returns whether we know this channel of a server, or this thread, unless it is archived.
    pub(in crate::discord) fn has_place(&self, guild: GuildId, channel: ChannelId) -> bool {
        let Some(server) = self.server(guild) else {
            return false;
        };
        let id = serenity::all::ChannelId::new(channel.0);
        server.channels.contains_key(&id) || server.threads.iter().any(|thread| thread.id == id)
    }

    /// Returns why Discord refused an operation in a channel, and what to do: permissions that our role is missing are
    /// named if they are known.
    pub(in crate::discord) fn refusal(
        &self,
        operation: Operation,
        channel: ChannelId,
        error: &RestError,
    ) -> String {
        match self.lacks(operation, channel) {
            Some(missing) if error.is_forbidden() => explain::lacking_these(operation, missing),
            Some(_) | None => explain::refusal(operation, error),
        }
    }

    /// Returns the permissions that our role is missing for an operation in an agent's channel or a thread under it.
    /// Returns `None` if none is known to be missing.
    fn lacks(&self, operation: Operation, channel: ChannelId) -> Option<Permissions> {
        let agents = self.manager.directory.guilds();
        let server = agents
            .into_iter()
            .filter_map(|guild| self.server(guild))
            .find(|server| place_of(server, channel).is_some())?;
        let (place, is_thread) = place_of(&server, channel)?;
        let own = server
            .members
            .get(&serenity::all::UserId::new(self.own.0))?;
        let held = server.user_permissions_in(place, own);
        let missing = operation.needs(is_thread) - held;
        (!missing.is_empty()).then_some(missing)
    }

    /// Returns the server of an agent's channel or of a thread under one, if it is known.
    pub(in crate::discord) fn guild_of(&self, channel: ChannelId) -> Option<GuildId> {
        if let Some(agent) = self.manager.directory.agent_for(channel, None) {
            return Some(agent.guild);
        }
        self.manager.directory.guilds().into_iter().find(|guild| {
            let server = self.server(*guild);
            server.is_some_and(|server| place_of(&server, channel).is_some())
        })
    }

    /// Returns whether a post in a channel is allowed: not in a server that is not accepted. For threads that no
    /// server's description names, the database knows the server.
    pub(in crate::discord) async fn may_post(&self, channel: ChannelId) -> bool {
        let guild = match self.guild_of(channel) {
            Some(guild) => Some(guild),
            None => self.guild_of_branch(channel).await,
        };
        guild.is_none_or(|guild| self.serves(guild))
    }

    async fn guild_of_branch(&self, thread: ChannelId) -> Option<GuildId> {
        let branch = self.store.conversation_by_thread(thread).await.ok()??;
        Some(self.manager.directory.agent(branch.agent)?.guild)
    }

    /// Returns the channel above, if `channel` is a thread.
    pub(in crate::discord) fn parent_of(
        &self,
        guild: GuildId,
        channel: ChannelId,
    ) -> Option<ChannelId> {
        let server = self.server(guild)?;
        let thread = server
            .threads
            .iter()
            .find(|thread| thread.id.get() == channel.0)?;
        thread.parent_id.map(|parent| ChannelId(parent.get()))
    }

    /// Returns where to post messages about a whole server: its system channel, or the first text channel in which we
    /// may write. An agent's channel only if there is no other.
    pub(in crate::discord) fn first_usable(&self, guild: GuildId) -> Option<ChannelId> {
        let server = self.server(guild)?;
        let own = server
            .members
            .get(&serenity::all::UserId::new(self.own.0))?;
        let needs = Operation::Post.needs(false);
        let mut usable: Vec<&GuildChannel> = server
            .channels
            .values()
            .filter(|channel| is_text(channel))
            .filter(|channel| server.user_permissions_in(channel, own).contains(needs))
            .collect();
        usable.sort_by_key(|channel| {
            let is_agents = self
                .manager
                .directory
                .agent_for(ChannelId(channel.id.get()), None)
                .is_some();
            let is_system = server.system_channel_id == Some(channel.id);
            (is_agents, !is_system, channel.position, channel.id)
        });
        usable.first().map(|channel| ChannelId(channel.id.get()))
    }

    /// Returns whether our roles let us create channels in `guild`; assumed if the cache does not know, because Discord
    /// will refuse.
    pub(in crate::discord) fn may_manage_channels(&self, guild: GuildId) -> bool {
        let Some(server) = self.server(guild) else {
            return true;
        };
        let own = server.members.get(&serenity::all::UserId::new(self.own.0));
        own.is_none_or(|member| people::may_manage_channels(&server, member))
    }

    /// Returns whether the member sees the channel; an unknown one counts as not visible.
    pub(in crate::discord) fn sees(
        &self,
        guild: GuildId,
        channel: ChannelId,
        member: &serenity::all::Member,
    ) -> bool {
        self.in_text_channel(guild, channel, |server, channel| {
            people::sees(server, channel, member)
        })
    }

    /// Returns whether `holds` for a text channel that we know of.
    fn in_text_channel(
        &self,
        guild: GuildId,
        channel: ChannelId,
        holds: impl FnOnce(&Guild, &GuildChannel) -> bool,
    ) -> bool {
        let Some(server) = self.server(guild) else {
            return false;
        };
        let found = server
            .channels
            .get(&serenity::all::ChannelId::new(channel.0));
        found.is_some_and(|channel| is_text(channel) && holds(&server, channel))
    }
}

/// Returns a channel of a server, or the one above a thread of it; and whether it is a thread.
fn place_of(server: &Guild, channel: ChannelId) -> Option<(&GuildChannel, bool)> {
    let id = serenity::all::ChannelId::new(channel.0);
    if let Some(found) = server.channels.get(&id) {
        return Some((found, false));
    }
    let thread = server.threads.iter().find(|thread| thread.id == id)?;
    let above = server.channels.get(&thread.parent_id?)?;
    Some((above, true))
}

fn is_text(channel: &GuildChannel) -> bool {
    matches!(channel.kind, ChannelType::Text | ChannelType::News)
}
