//! Routes about channels: create, read, change, delete, type.

use serde_json::Value;

use super::guilds;
use super::reply::{Outcome, Reply};
use super::validate;
use crate::allowed;
use crate::desk::call::Call;
use crate::desk::error::ApiError;
use crate::guild::{Channel, ChannelKind, Overwrite, OverwriteOf};
use crate::rights::Rights;
use crate::wire;
use crate::world::World;
use chorus_base::discord_ids::{ChannelId, RoleId, UserId};

/// Most channels in a server.
const MOST_IN_GUILD: usize = 500;
/// Most channels in a category.
const MOST_IN_CATEGORY: usize = 50;

pub(super) fn get(world: &World, channel: &str) -> Outcome {
    let channel = seen(world, channel)?;
    Ok(Reply::Json(wire::channel(world, channel)))
}

pub(super) fn create(world: &mut World, call: &Call, guild: &str) -> Outcome {
    let guild = guilds::find(world, guild)?;
    if !allowed::in_guild(guild, world.bot).contains(Rights::MANAGE_CHANNELS) {
        return Err(ApiError::missing_permissions());
    }
    let guild = guild.id;
    let name = validate::text(&call.body, "name", 1, 100)?.unwrap_or_default();
    let topic = validate::text(&call.body, "topic", 0, 1_024)?;
    let kind = call.body["type"].as_u64().unwrap_or(0);
    let kind = ChannelKind::from_number(kind)
        .filter(|kind| matches!(kind, ChannelKind::Text | ChannelKind::Category))
        .ok_or_else(|| {
            ApiError::invalid("type", "BASE_TYPE_CHOICES", "Not a channel type here.")
        })?;
    let parent = parent(&call.body)?;
    let own = world
        .channels
        .values()
        .filter(|c| c.guild == Some(guild) && !c.kind.is_thread());
    if own.count() >= MOST_IN_GUILD {
        return Err(ApiError::full("guild", MOST_IN_GUILD));
    }
    check_parent(world, parent)?;
    let id = world.add_channel(guild, &spelled(&name, kind), kind, parent);
    let overwrites = overwrites(&call.body["permission_overwrites"]);
    if let Some(made) = world.channels.get_mut(&id) {
        made.topic = topic;
        made.overwrites = overwrites;
    }
    let made = world
        .channels
        .get(&id)
        .ok_or_else(ApiError::unknown_channel)?;
    Ok(Reply::Json(wire::channel(world, made)))
}

pub(super) fn modify(world: &mut World, call: &Call, channel: &str) -> Outcome {
    let found = seen(world, channel)?;
    let (id, kind) = (found.id, found.kind);
    let needed = if kind.is_thread() {
        Rights::MANAGE_THREADS
    } else {
        Rights::MANAGE_CHANNELS
    };
    let is_owner = found
        .thread
        .as_ref()
        .is_some_and(|thread| thread.owner == world.bot);
    if !is_owner {
        needs(world, id, needed)?;
    }
    let name = validate::text(&call.body, "name", 1, 100)?;
    let topic = validate::text(&call.body, "topic", 0, 1_024)?;
    let moves = call.body.get("parent_id").is_some();
    let new_parent = parent(&call.body)?;
    if moves {
        check_parent(world, new_parent)?;
    }
    let Some(found) = world.channels.get_mut(&id) else {
        return Err(ApiError::unknown_channel());
    };
    if let Some(name) = name {
        found.name = spelled(&name, kind);
    }
    if call.body.get("topic").is_some() {
        found.topic = topic;
    }
    if moves {
        found.parent = new_parent;
    }
    if let Some(thread) = &mut found.thread {
        let flag = |name: &str| call.body[name].as_bool();
        thread.archived = flag("archived").unwrap_or(thread.archived);
        thread.locked = flag("locked").unwrap_or(thread.locked);
        let minutes = call.body["auto_archive_duration"].as_u64();
        thread.auto_archive_minutes = minutes.unwrap_or(thread.auto_archive_minutes);
    }
    world.channel_event(
        if kind.is_thread() {
            "THREAD_UPDATE"
        } else {
            "CHANNEL_UPDATE"
        },
        id,
    );
    get(world, channel)
}

pub(super) fn delete(world: &mut World, channel: &str) -> Outcome {
    let found = seen(world, channel)?;
    let (id, is_thread) = (found.id, found.kind.is_thread());
    needs(
        world,
        id,
        if is_thread {
            Rights::MANAGE_THREADS
        } else {
            Rights::MANAGE_CHANNELS
        },
    )?;
    let reply = get(world, channel);
    world.remove_channel(id);
    reply
}

pub(super) fn typing(world: &mut World, channel: &str) -> Outcome {
    let id = seen(world, channel)?.id;
    needs(world, id, Rights::SEND_MESSAGES)?;
    world.begin_typing(id, world.bot);
    Ok(Reply::Nothing)
}

pub(super) fn overwrite(world: &mut World, call: &Call, channel: &str, of: &str) -> Outcome {
    let id = seen(world, channel)?.id;
    needs(world, id, Rights::MANAGE_ROLES)?;
    let mut body = call.body.clone();
    body["id"] = Value::String(of.to_owned());
    if let Some(found) = world.channels.get_mut(&id) {
        for overwrite in overwrites(&Value::Array(vec![body])) {
            found.overwrites.retain(|old| old.of != overwrite.of);
            found.overwrites.push(overwrite);
        }
    }
    world.channel_event("CHANNEL_UPDATE", id);
    Ok(Reply::Nothing)
}

/// Returns the channel with this id, if the bot can see it.
pub(super) fn seen<'a>(world: &'a World, channel: &str) -> Result<&'a Channel, ApiError> {
    let id = channel
        .parse()
        .map(ChannelId)
        .map_err(|_| ApiError::unknown_channel())?;
    let channel = world
        .channels
        .get(&id)
        .ok_or_else(ApiError::unknown_channel)?;
    if !world.rights(id, world.bot).contains(Rights::VIEW_CHANNEL) {
        return Err(ApiError::missing_access());
    }
    Ok(channel)
}

/// Refuses unless the bot holds `rights` there.
pub(super) fn needs(world: &World, channel: ChannelId, rights: Rights) -> Result<(), ApiError> {
    if world.rights(channel, world.bot).contains(rights) {
        return Ok(());
    }
    Err(ApiError::missing_permissions())
}

/// Returns the name as Discord writes it: lower case with hyphens for spaces in text channels.
fn spelled(name: &str, kind: ChannelKind) -> String {
    match kind {
        ChannelKind::Text => name.to_lowercase().replace(' ', "-"),
        ChannelKind::Direct
        | ChannelKind::Category
        | ChannelKind::PublicThread
        | ChannelKind::PrivateThread => name.to_owned(),
    }
}

fn parent(body: &Value) -> Result<Option<ChannelId>, ApiError> {
    let Some(text) = body["parent_id"].as_str() else {
        return Ok(None);
    };
    let id = text.parse().map(ChannelId);
    id.map(Some)
        .map_err(|_| ApiError::invalid("parent_id", "NUMBER_TYPE_COERCE", "Not a snowflake."))
}

fn check_parent(world: &World, parent: Option<ChannelId>) -> Result<(), ApiError> {
    let Some(parent) = parent else { return Ok(()) };
    let is_category = world
        .channels
        .get(&parent)
        .is_some_and(|channel| channel.kind == ChannelKind::Category);
    if !is_category {
        let words = "Category does not exist";
        return Err(ApiError::invalid(
            "parent_id",
            "CHANNEL_PARENT_INVALID",
            words,
        ));
    }
    let inside = world
        .channels
        .values()
        .filter(|channel| channel.parent == Some(parent))
        .count();
    if inside >= MOST_IN_CATEGORY {
        let words = "Maximum number of channels in category reached (50)";
        return Err(ApiError::invalid(
            "parent_id",
            "CHANNEL_PARENT_MAX_CHANNELS",
            words,
        ));
    }
    Ok(())
}

fn overwrites(list: &Value) -> Vec<Overwrite> {
    let bits = |value: &Value| {
        let text = value
            .as_str()
            .map(str::to_owned)
            .unwrap_or_else(|| value.to_string());
        Rights(text.parse().unwrap_or(0))
    };
    let one = |value: &Value| {
        let id: u64 = value["id"].as_str()?.parse().ok()?;
        let of = match value["type"].as_u64() {
            Some(1) => OverwriteOf::Member(UserId(id)),
            _ => OverwriteOf::Role(RoleId(id)),
        };
        Some(Overwrite {
            of,
            allow: bits(&value["allow"]),
            deny: bits(&value["deny"]),
        })
    };
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(one)
        .collect()
}
