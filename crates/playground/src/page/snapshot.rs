//! The data the page loads when it opens: servers, channels, people, commands, messages.

use serde_json::{Value, json};

use crate::allowed;
use crate::guild::Guild;
use crate::wire;
use crate::world::World;
use chorus_base::discord_ids::{ChannelId, UserId};

/// Most messages of a channel that the page shows at first.
const SHOWN: usize = 200;

/// Returns everything except the messages.
pub(super) fn state(world: &World) -> Value {
    let users: Vec<Value> = world.users.values().map(wire::user).collect();
    let servers: Vec<Value> = world
        .guilds
        .values()
        .map(|guild| server(world, guild))
        .collect();
    let directs: Vec<Value> = world
        .channels
        .values()
        .filter_map(|channel| {
            let user = channel.recipient?;
            Some(json!({"id": channel.id.to_string(), "user": user.to_string()}))
        })
        .collect();
    json!({
        "bot": world.bot.to_string(),
        "online": world.gateway.is_connected(),
        "users": users,
        "servers": servers,
        "directs": directs,
    })
}

fn server(world: &World, guild: &Guild) -> Value {
    let channels: Vec<Value> = world
        .channels
        .values()
        .filter(|channel| channel.guild == Some(guild.id))
        .map(|channel| wire::channel(world, channel))
        .collect();
    let members: Vec<Value> = guild
        .members
        .iter()
        .map(|(user, member)| {
            let names = guild
                .roles
                .iter()
                .filter(|role| member.roles.contains(&role.id));
            json!({
                "id": user.to_string(),
                "nick": member.nick,
                "roles": names.map(|role| role.name.clone()).collect::<Vec<_>>(),
                "owner": guild.owner == *user,
                "rights": allowed::in_guild(guild, *user).0.to_string(),
            })
        })
        .collect();
    let lists = [
        world.commands.get(&None),
        world.commands.get(&Some(guild.id)),
    ];
    let commands: Vec<&Value> = lists.into_iter().flatten().flatten().collect();
    json!({
        "id": guild.id.to_string(),
        "name": guild.name,
        "channels": channels,
        "members": members,
        "roles": wire::roles(guild),
        "commands": commands,
    })
}

/// Returns the latest messages of a channel that `user` may see, oldest first.
pub(super) fn messages(world: &World, channel: ChannelId, user: UserId) -> Value {
    let all = world.messages.get(&channel);
    let mut shown: Vec<Value> = all
        .into_iter()
        .flat_map(|all| all.values().rev())
        .filter(|message| message.only_for.is_none_or(|owner| owner == user))
        .take(SHOWN)
        .map(|message| wire::message_event(world, message))
        .collect();
    shown.reverse();
    Value::Array(shown)
}
