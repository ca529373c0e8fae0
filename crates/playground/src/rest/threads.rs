//! Routes about threads.

use serde_json::{Value, json};

use super::channels::{needs, seen};
use super::reply::{Outcome, Reply};
use super::{guilds, messages, validate};
use crate::desk::call::Call;
use crate::desk::error::ApiError;
use crate::guild::{Channel, ChannelKind};
use crate::rights::Rights;
use crate::wire;
use crate::world::World;
use chorus_base::discord_ids::{ChannelId, MessageId, UserId};

/// Most threads of a server that are not archived.
const MOST_OPEN: usize = 1_000;

pub(super) fn create_on(world: &mut World, call: &Call, channel: &str, message: &str) -> Outcome {
    let (channel, message) = messages::find(world, channel, message)?;
    if world
        .message(channel, message)
        .is_some_and(|message| message.thread.is_some())
    {
        return Err(ApiError::thread_exists());
    }
    open(
        world,
        call,
        channel,
        Some(message),
        ChannelKind::PublicThread,
    )
}

pub(super) fn create(world: &mut World, call: &Call, channel: &str) -> Outcome {
    let channel = seen(world, channel)?.id;
    // Without a type Discord makes it private.
    let kind = match call.body["type"].as_u64() {
        Some(11) => ChannelKind::PublicThread,
        _ => ChannelKind::PrivateThread,
    };
    open(world, call, channel, None, kind)
}

fn open(
    world: &mut World,
    call: &Call,
    channel: ChannelId,
    on: Option<MessageId>,
    kind: ChannelKind,
) -> Outcome {
    needs(world, channel, Rights::CREATE_PUBLIC_THREADS)?;
    let name = validate::text(&call.body, "name", 1, 100)?;
    let name = name.ok_or_else(|| validate::required("name"))?;
    let guild = world.channels.get(&channel).and_then(|place| place.guild);
    let is_open = |place: &&Channel| {
        place.guild == guild && place.thread.as_ref().is_some_and(|thread| !thread.archived)
    };
    if world.channels.values().filter(is_open).count() >= MOST_OPEN {
        return Err(ApiError::too_many_threads());
    }
    let id = world.add_thread(channel, on, &name, kind, world.bot);
    if let Some(thread) = world
        .channels
        .get_mut(&id)
        .and_then(|made| made.thread.as_mut())
    {
        let minutes = call.body["auto_archive_duration"].as_u64();
        thread.auto_archive_minutes = minutes.unwrap_or(thread.auto_archive_minutes);
    }
    let made = world
        .channels
        .get(&id)
        .ok_or_else(ApiError::unknown_channel)?;
    Ok(Reply::Json(wire::channel(world, made)))
}

pub(super) fn active(world: &World, guild: &str) -> Outcome {
    let guild = guilds::find(world, guild)?.id;
    let is_active = |channel: &&Channel| {
        channel.guild == Some(guild)
            && channel
                .thread
                .as_ref()
                .is_some_and(|thread| !thread.archived)
    };
    let threads: Vec<Value> = world
        .channels
        .values()
        .filter(is_active)
        .map(|one| wire::channel(world, one))
        .collect();
    Ok(Reply::Json(json!({"threads": threads, "members": []})))
}

pub(super) fn archived(world: &World, channel: &str) -> Outcome {
    let parent = seen(world, channel)?.id;
    let is_archived = |channel: &&Channel| {
        channel.parent == Some(parent)
            && channel
                .thread
                .as_ref()
                .is_some_and(|thread| thread.archived)
    };
    let threads: Vec<Value> = world
        .channels
        .values()
        .filter(is_archived)
        .map(|one| wire::channel(world, one))
        .collect();
    Ok(Reply::Json(
        json!({"threads": threads, "members": [], "has_more": false}),
    ))
}

pub(super) fn join(world: &mut World, channel: &str, user: &str) -> Outcome {
    let (thread, user) = parties(world, channel, user)?;
    let members = world
        .channels
        .get_mut(&thread)
        .and_then(|one| one.thread.as_mut());
    if let Some(state) = members
        && !state.members.contains(&user)
    {
        state.members.push(user);
    }
    Ok(Reply::Nothing)
}

pub(super) fn leave(world: &mut World, channel: &str, user: &str) -> Outcome {
    let (thread, user) = parties(world, channel, user)?;
    if let Some(state) = world
        .channels
        .get_mut(&thread)
        .and_then(|one| one.thread.as_mut())
    {
        state.members.retain(|member| *member != user);
    }
    Ok(Reply::Nothing)
}

fn parties(world: &World, channel: &str, user: &str) -> Result<(ChannelId, UserId), ApiError> {
    let thread = seen(world, channel)?;
    if thread.thread.is_none() {
        return Err(ApiError::unknown_channel());
    }
    let user = if user == "@me" {
        Some(world.bot)
    } else {
        user.parse().ok().map(UserId)
    };
    Ok((thread.id, user.ok_or_else(ApiError::unknown_user)?))
}
