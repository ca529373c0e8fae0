//! Discord's JSON for the objects of the world.

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};

use super::allowed;
use super::guild::{
    Attachment, Channel, ChannelKind, Guild, Member, Message, OverwriteOf, Role, User,
};
use super::world::World;
use chorus_base::discord_ids::{ChannelId, GuildId, UserId, made_at};

/// Formats a time as Discord does.
fn timestamp(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Micros, false)
}

pub(crate) fn user(user: &User) -> Value {
    json!({
        "id": user.id.to_string(),
        "username": user.name,
        "global_name": null,
        "discriminator": "0",
        "avatar": null,
        "bot": user.is_bot,
        "public_flags": 0,
    })
}

pub(crate) fn user_by_id(world: &World, id: UserId) -> Value {
    world.users.get(&id).map_or(Value::Null, user)
}

/// Returns a member without the user, for events that contain the user elsewhere.
fn partial_member(user: UserId, member: &Member) -> Value {
    json!({
        "roles": member.roles.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "nick": member.nick,
        "avatar": null,
        "joined_at": timestamp(made_at(user.0)),
        "premium_since": null,
        "deaf": false,
        "mute": false,
        "flags": 0,
        "pending": false,
    })
}

pub(crate) fn member(world: &World, user: UserId, member: &Member) -> Value {
    let mut value = partial_member(user, member);
    value["user"] = user_by_id(world, user);
    value
}

pub(crate) fn role(role: &Role, position: usize) -> Value {
    json!({
        "id": role.id.to_string(),
        "name": role.name,
        "color": role.colour,
        "colors": {"primary_color": role.colour, "secondary_color": null, "tertiary_color": null},
        "hoist": false,
        "icon": null,
        "unicode_emoji": null,
        "position": position,
        "permissions": role.rights.0.to_string(),
        "managed": role.is_managed,
        "mentionable": false,
        "flags": 0,
    })
}

pub(crate) fn roles(guild: &Guild) -> Vec<Value> {
    guild
        .roles
        .iter()
        .enumerate()
        .map(|(position, one)| role(one, position))
        .collect()
}

pub(crate) fn channel(world: &World, channel: &Channel) -> Value {
    let last_message = channel.last_message.map(|id| id.to_string());
    if channel.kind == ChannelKind::Direct {
        let recipient = channel.recipient.map(|user| user_by_id(world, user));
        return json!({
            "id": channel.id.to_string(),
            "type": 1,
            "last_message_id": last_message,
            "recipients": [recipient],
        });
    }
    let mut value = json!({
        "id": channel.id.to_string(),
        "type": channel.kind.number(),
        "guild_id": channel.guild.map(|id| id.to_string()),
        "parent_id": channel.parent.map(|id| id.to_string()),
        "name": channel.name,
        "topic": channel.topic,
        "position": channel.position,
        "nsfw": false,
        "flags": 0,
        "rate_limit_per_user": 0,
        "last_message_id": last_message,
        "permission_overwrites": overwrites(channel),
    });
    if let Some(thread) = &channel.thread {
        let made = timestamp(made_at(channel.id.0));
        let messages = world
            .messages
            .get(&channel.id)
            .map_or(0, std::collections::BTreeMap::len);
        value["owner_id"] = json!(thread.owner.to_string());
        value["message_count"] = json!(messages);
        value["member_count"] = json!(thread.members.len());
        value["thread_metadata"] = json!({
            "archived": thread.archived,
            "auto_archive_duration": thread.auto_archive_minutes,
            "archive_timestamp": made,
            "locked": thread.locked,
            "create_timestamp": made,
        });
    }
    value
}

fn overwrites(channel: &Channel) -> Vec<Value> {
    let one = |overwrite: &super::guild::Overwrite| {
        let (id, kind) = match overwrite.of {
            OverwriteOf::Role(id) => (id.to_string(), 0),
            OverwriteOf::Member(id) => (id.to_string(), 1),
        };
        json!({
            "id": id,
            "type": kind,
            "allow": overwrite.allow.0.to_string(),
            "deny": overwrite.deny.0.to_string(),
        })
    };
    channel.overwrites.iter().map(one).collect()
}

/// Returns a server without its channels and members, as REST gives it.
pub(crate) fn guild(guild: &Guild) -> Value {
    json!({
        "id": guild.id.to_string(),
        "name": guild.name,
        "icon": null, "splash": null, "discovery_splash": null, "banner": null, "description": null,
        "owner_id": guild.owner.to_string(),
        "afk_channel_id": null, "afk_timeout": 300,
        "widget_enabled": false, "widget_channel_id": null,
        "verification_level": 0, "default_message_notifications": 0, "explicit_content_filter": 0,
        "roles": roles(guild),
        "emojis": [], "features": [], "stickers": [],
        "mfa_level": 0, "nsfw_level": 0, "nsfw": false,
        "application_id": null,
        "system_channel_id": null, "system_channel_flags": 0, "rules_channel_id": null,
        "public_updates_channel_id": null, "safety_alerts_channel_id": null,
        "max_presences": null, "max_members": 500_000,
        "max_video_channel_users": 25, "max_stage_video_channel_users": 50,
        "vanity_url_code": null, "preferred_locale": "en-US",
        "premium_tier": 0, "premium_subscription_count": 0, "premium_progress_bar_enabled": false,
    })
}

/// Returns a server with everything in it, as the gateway sends it.
pub(crate) fn guild_create(world: &World, id: GuildId) -> Value {
    let Some(found) = world.guilds.get(&id) else {
        return Value::Null;
    };
    let mut value = guild(found);
    let (threads, channels): (Vec<&Channel>, Vec<&Channel>) = world
        .channels
        .values()
        .filter(|channel| channel.guild == Some(id))
        .partition(|channel| channel.kind.is_thread());
    let live = |channel: &&&Channel| {
        channel
            .thread
            .as_ref()
            .is_some_and(|thread| !thread.archived)
    };
    value["joined_at"] = json!(timestamp(made_at(id.0)));
    value["large"] = json!(false);
    value["unavailable"] = json!(false);
    value["member_count"] = json!(found.members.len());
    value["members"] = found
        .members
        .iter()
        .map(|(user, one)| member(world, *user, one))
        .collect();
    value["channels"] = channels.iter().map(|one| channel(world, one)).collect();
    value["threads"] = threads
        .iter()
        .filter(live)
        .map(|one| channel(world, one))
        .collect();
    for empty in [
        "voice_states",
        "presences",
        "stage_instances",
        "guild_scheduled_events",
        "soundboard_sounds",
    ] {
        value[empty] = json!([]);
    }
    value
}

/// Returns a message, as REST gives it.
pub(crate) fn message(world: &World, message: &Message) -> Value {
    let mut value = bare_message(world, message);
    if let Some(reply_to) = message.reply_to {
        let original = world.message(message.channel, reply_to);
        value["referenced_message"] =
            original.map_or(Value::Null, |original| bare_message(world, original));
    }
    value
}

/// Returns a message, as the gateway gives it: with the server and the author's membership.
pub(crate) fn message_event(world: &World, one: &Message) -> Value {
    let mut value = message(world, one);
    let Some(guild) = world.guild_of(one.channel) else {
        return value;
    };
    value["guild_id"] = json!(guild.id.to_string());
    if let Some(member) = guild.members.get(&one.author) {
        value["member"] = partial_member(one.author, member);
    }
    value
}

fn bare_message(world: &World, message: &Message) -> Value {
    let attachments: Vec<Value> = message
        .attachments
        .iter()
        .map(|file| attachment(world, file))
        .collect();
    let reactions: Vec<Value> = message
        .reactions
        .iter()
        .map(|reaction| {
            let count = reaction.by.len();
            json!({
                "emoji": emoji(&reaction.emoji),
                "count": count,
                "count_details": {"burst": 0, "normal": count},
                "me": reaction.by.contains(&world.bot),
                "me_burst": false,
                "burst_colors": [],
            })
        })
        .collect();
    let mentions: Vec<Value> = mentioned(&message.content)
        .map(|id| user_by_id(world, id))
        .filter(|user| !user.is_null())
        .collect();
    let mut value = json!({
        "id": message.id.to_string(),
        "channel_id": message.channel.to_string(),
        "author": user_by_id(world, message.author),
        "content": message.content,
        "timestamp": timestamp(made_at(message.id.0)),
        "edited_timestamp": message.edited.map(timestamp),
        "tts": false,
        "mention_everyone": message.pings.iter().any(|ping| ping == "@everyone"),
        "mentions": mentions,
        "mention_roles": [],
        "attachments": attachments,
        "embeds": message.embeds,
        "components": message.components,
        "reactions": reactions,
        "pinned": false,
        "type": message.kind,
        "flags": message.flags,
    });
    if let Some(nonce) = &message.nonce {
        value["nonce"] = nonce.clone();
    }
    if let Some(reply_to) = message.reply_to {
        value["message_reference"] = json!({
            "type": 0,
            "message_id": reply_to.to_string(),
            "channel_id": message.channel.to_string(),
        });
    }
    if let Some((id, by)) = message.interaction {
        value["interaction_metadata"] = json!({
            "id": id.to_string(),
            "type": 2,
            "name": message.command.as_deref().map(|words| words.trim_start_matches('/')),
            "user": user_by_id(world, by),
            "authorizing_integration_owners": {},
        });
        value["application_id"] = json!(world.bot.to_string());
        value["webhook_id"] = json!(world.bot.to_string());
    }
    if let Some(thread) = message.thread.and_then(|id| world.channels.get(&id)) {
        value["thread"] = channel(world, thread);
    }
    value
}

pub(crate) fn attachment(world: &World, file: &Attachment) -> Value {
    let url = format!("{}/attachments/{}/{}", world.base, file.id, file.name);
    json!({
        "id": file.id.to_string(),
        "filename": file.name,
        "size": file.size,
        "content_type": file.content_type,
        "url": url,
        "proxy_url": url,
    })
}

/// Returns Discord's form of an emoji written as itself or as `name:id`.
pub(crate) fn emoji(written: &str) -> Value {
    match written.rsplit_once(':') {
        Some((name, id)) => json!({"id": id, "name": name}),
        None => json!({"id": null, "name": written}),
    }
}

/// Returns a channel as interactions contain it.
pub(crate) fn interaction_channel(world: &World, id: ChannelId, by: UserId) -> Value {
    let Some(found) = world.channels.get(&id) else {
        return Value::Null;
    };
    let mut value = channel(world, found);
    value["permissions"] = json!(world.rights(id, by).0.to_string());
    value
}

/// Returns a member as interactions contain it: with the permissions in that channel.
pub(crate) fn interaction_member(world: &World, id: ChannelId, by: UserId) -> Option<Value> {
    let guild = world.guild_of(id)?;
    let mut value = member(world, by, guild.members.get(&by)?);
    value["permissions"] = json!(
        (world.rights(id, by) | allowed::in_guild(guild, by))
            .0
            .to_string()
    );
    Some(value)
}

/// Returns the users mentioned as `<@id>` or `<@!id>` in a text.
pub(crate) fn mentioned(content: &str) -> impl Iterator<Item = UserId> {
    content.split("<@").skip(1).filter_map(|rest| {
        let (inside, _) = rest.split_once('>')?;
        inside.trim_start_matches('!').parse().ok()
    })
}
