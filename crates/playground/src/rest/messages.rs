//! Routes about messages.

use std::collections::BTreeMap;

use chrono::{TimeDelta, Utc};
use serde_json::{Value, json};

use super::channels::{needs, seen};
use super::contents::{OWN_FLAGS, change, draft, show};
use super::reply::{Outcome, Reply};
use super::validate;
use crate::desk::call::Call;
use crate::desk::error::ApiError;
use crate::guild::{Channel, ChannelKind, Message};
use crate::rights::Rights;
use crate::wire;
use crate::world::World;
use chorus_base::discord_ids::{ChannelId, MessageId};

pub(super) fn create(world: &mut World, call: &Call, channel: &str) -> Outcome {
    let found = seen(world, channel)?;
    let (id, kind) = (found.id, found.kind);
    may_send(world, found, call)?;
    if let Some(twin) = twin(world, id, &call.body) {
        return show(world, id, twin);
    }
    validate::message(&call.body, call)?;
    if validate::is_empty(&call.body, call) {
        return Err(ApiError::empty_message());
    }
    let mut draft = draft(world, call);
    draft.reply_to = reply_to(world, id, &call.body)?;
    draft.nonce = call
        .body
        .get("nonce")
        .filter(|nonce| !nonce.is_null())
        .cloned();
    draft.flags = call.body["flags"].as_u64().unwrap_or(0) & OWN_FLAGS;
    let is_direct = kind == ChannelKind::Direct;
    if draft.reply_to.is_some()
        && !is_direct
        && !world
            .rights(id, world.bot)
            .contains(Rights::READ_MESSAGE_HISTORY)
    {
        return Err(ApiError::no_history());
    }
    if !draft.embeds.is_empty() && !is_direct {
        needs(world, id, Rights::EMBED_LINKS)?;
    }
    world.unarchive(id);
    let made = world.post(id, world.bot, draft);
    show(world, id, made)
}

/// Checks whether the bot may send such a message to a channel that it sees.
fn may_send(world: &World, channel: &Channel, call: &Call) -> Result<(), ApiError> {
    if channel
        .thread
        .as_ref()
        .is_some_and(|thread| thread.archived && thread.locked)
    {
        return Err(ApiError::archived());
    }
    let right = if channel.kind.is_thread() {
        Rights::SEND_MESSAGES_IN_THREADS
    } else {
        Rights::SEND_MESSAGES
    };
    needs(world, channel.id, right)?;
    if !call.files.is_empty() {
        needs(world, channel.id, Rights::ATTACH_FILES)?;
    }
    let recipient = channel.recipient.and_then(|user| world.users.get(&user));
    if recipient.is_some_and(|user| user.closed_to_direct_messages) {
        return Err(ApiError::closed_to_direct_messages());
    }
    Ok(())
}

/// Returns the message that already has the same nonce, if the bot asked for that check.
fn twin(world: &World, channel: ChannelId, body: &Value) -> Option<MessageId> {
    let nonce = body.get("nonce").filter(|nonce| !nonce.is_null())?;
    if body["enforce_nonce"] != true {
        return None;
    }
    let recent = world.messages.get(&channel)?.values().rev().take(100);
    recent
        .filter(|message| message.author == world.bot)
        .find(|message| message.nonce.as_ref() == Some(nonce))
        .map(|message| message.id)
}

fn reply_to(
    world: &World,
    channel: ChannelId,
    body: &Value,
) -> Result<Option<MessageId>, ApiError> {
    let reference = &body["message_reference"];
    let id = match &reference["message_id"] {
        Value::String(text) => text.parse().ok(),
        Value::Number(number) => number.as_u64(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let Some(id) = id.map(MessageId) else {
        return Ok(None);
    };
    if world.message(channel, id).is_some() {
        return Ok(Some(id));
    }
    if reference["fail_if_not_exists"] == false {
        return Ok(None);
    }
    let words = "Unknown message";
    Err(ApiError::invalid(
        "message_reference",
        "REPLIES_UNKNOWN_MESSAGE",
        words,
    ))
}

pub(super) fn list(world: &World, call: &Call, channel: &str) -> Outcome {
    let id = seen(world, channel)?.id;
    if !world
        .rights(id, world.bot)
        .contains(Rights::READ_MESSAGE_HISTORY)
    {
        return Ok(Reply::Json(json!([])));
    }
    let limit = call.number("limit").unwrap_or(50);
    if !(1..=100).contains(&limit) {
        let words = "int value should be between 1 and 100.";
        return Err(ApiError::invalid("limit", "NUMBER_TYPE_MAX", words));
    }
    let limit = limit as usize;
    let nothing = BTreeMap::new();
    let all = world.messages.get(&id).unwrap_or(&nothing);
    let public = |message: &&Message| message.only_for.is_none();
    let mut page: Vec<&Message> = if let Some(after) = call.number("after") {
        all.range(MessageId(after + 1)..)
            .map(|(_, one)| one)
            .filter(public)
            .take(limit)
            .collect()
    } else if let Some(before) = call.number("before") {
        all.range(..MessageId(before))
            .rev()
            .map(|(_, one)| one)
            .filter(public)
            .take(limit)
            .collect()
    } else if let Some(around) = call.number("around") {
        let older = all.range(..MessageId(around)).rev().map(|(_, one)| one);
        let newer = all.range(MessageId(around)..).map(|(_, one)| one);
        let half = limit / 2;
        older
            .filter(public)
            .take(half)
            .chain(newer.filter(public).take(limit - half))
            .collect()
    } else {
        all.values().rev().filter(public).take(limit).collect()
    };
    page.sort_by_key(|message| std::cmp::Reverse(message.id));
    Ok(Reply::Json(
        page.into_iter()
            .map(|message| world.altered("MESSAGE_CREATE", wire::message(world, message)))
            .collect(),
    ))
}

pub(super) fn get(world: &World, channel: &str, message: &str) -> Outcome {
    let (channel, message) = find(world, channel, message)?;
    show(world, channel, message)
}

pub(super) fn edit(world: &mut World, call: &Call, channel: &str, message: &str) -> Outcome {
    let (channel, id) = find(world, channel, message)?;
    if world
        .message(channel, id)
        .is_some_and(|message| message.author != world.bot)
    {
        return Err(ApiError::not_the_author());
    }
    change(world, call, channel, id)
}

pub(super) fn delete(world: &mut World, channel: &str, message: &str) -> Outcome {
    let (channel, id) = find(world, channel, message)?;
    if world
        .message(channel, id)
        .is_some_and(|message| message.author != world.bot)
    {
        needs(world, channel, Rights::MANAGE_MESSAGES)?;
    }
    world.delete(channel, id);
    Ok(Reply::Nothing)
}

pub(super) fn bulk_delete(world: &mut World, call: &Call, channel: &str) -> Outcome {
    let id = seen(world, channel)?.id;
    needs(world, id, Rights::MANAGE_MESSAGES)?;
    let listed = call.body["messages"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let ids: Vec<MessageId> = listed
        .iter()
        .filter_map(|one| one.as_str()?.parse().ok().map(MessageId))
        .collect();
    if !(2..=100).contains(&ids.len()) {
        let words = "Must be between 2 and 100 in length.";
        return Err(ApiError::invalid("messages", "BASE_TYPE_BAD_LENGTH", words));
    }
    let oldest = Utc::now() - TimeDelta::days(14);
    if ids.iter().any(|one| one.sent_at() < oldest) {
        return Err(ApiError::too_old());
    }
    let there = |one: &&MessageId| world.message(id, **one).is_some();
    let gone: Vec<MessageId> = ids.iter().filter(there).copied().collect();
    if let Some(all) = world.messages.get_mut(&id) {
        all.retain(|one, _| !gone.contains(one));
    }
    let names: Vec<String> = gone.iter().map(ToString::to_string).collect();
    let mut data = json!({"ids": names, "channel_id": id.to_string()});
    if let Some(guild) = world.guild_of(id) {
        data["guild_id"] = json!(guild.id.to_string());
    }
    world.tell(None, json!({"t": "MESSAGE_DELETE_BULK", "d": data.clone()}));
    world.dispatch("MESSAGE_DELETE_BULK", data);
    Ok(Reply::Nothing)
}

/// Returns the message with this id, if the bot can see it and it is not ephemeral.
pub(super) fn find(
    world: &World,
    channel: &str,
    message: &str,
) -> Result<(ChannelId, MessageId), ApiError> {
    let place = seen(world, channel)?;
    if place.kind != ChannelKind::Direct {
        needs(world, place.id, Rights::READ_MESSAGE_HISTORY)?;
    }
    let id = message
        .parse()
        .map(MessageId)
        .map_err(|_| ApiError::unknown_message())?;
    let found = world
        .message(place.id, id)
        .filter(|message| message.only_for.is_none());
    found
        .map(|message| (place.id, message.id))
        .ok_or_else(ApiError::unknown_message)
}
