//! The content of a message in a request: written, changed, returned.

use serde_json::{Value, json};

use super::reply::{Outcome, Reply};
use super::validate;
use crate::desk::call::Call;
use crate::desk::error::ApiError;
use crate::guild::{Attachment, Draft};
use crate::wire;
use crate::world::World;
use chorus_base::discord_ids::{ChannelId, MessageId};

/// Flags a bot may set: embeds suppressed, notifications suppressed.
pub(super) const OWN_FLAGS: u64 = 1 << 2 | 1 << 12;

/// Returns the message that a body describes, with its files stored.
pub(super) fn draft(world: &mut World, call: &Call) -> Draft {
    let body = &call.body;
    let list = |field: &str| body[field].as_array().cloned().unwrap_or_default();
    let attachments = store_files(world, call);
    Draft {
        content: body["content"].as_str().unwrap_or_default().to_owned(),
        embeds: list("embeds").into_iter().map(rich).collect(),
        components: list("components"),
        attachments,
        allowed_mentions: body
            .get("allowed_mentions")
            .filter(|one| !one.is_null())
            .cloned(),
        ..Draft::default()
    }
}

/// Adds the type to an embed, as Discord does.
fn rich(mut embed: Value) -> Value {
    embed["type"] = json!("rich");
    embed
}

fn store_files(world: &mut World, call: &Call) -> Vec<Attachment> {
    let named = |index: u64| {
        let list = call.body["attachments"].as_array()?;
        let entry = list.iter().find(|entry| {
            entry["id"].as_u64() == Some(index) || entry["id"].as_str() == Some(&index.to_string())
        })?;
        entry["filename"].as_str().map(str::to_owned)
    };
    call.files
        .iter()
        .map(|file| {
            let name = named(file.index).unwrap_or_else(|| file.name.clone());
            world.store_file(&name, file.content_type.as_deref(), file.bytes.clone())
        })
        .collect()
}

/// Changes a message by the fields that are in the body.
pub(super) fn change(world: &mut World, call: &Call, channel: ChannelId, id: MessageId) -> Outcome {
    validate::message(&call.body, call)?;
    let fresh = draft(world, call);
    let body = call.body.clone();
    let kept: Option<Vec<u64>> = body["attachments"].as_array().map(|list| {
        list.iter()
            .filter_map(|entry| entry["id"].as_str()?.parse().ok())
            .collect()
    });
    let has = |field: &str| body.get(field).is_some();
    let would_be_empty = world.message(channel, id).is_some_and(|message| {
        let content = if has("content") {
            &fresh.content
        } else {
            &message.content
        };
        let embeds = if has("embeds") {
            &fresh.embeds
        } else {
            &message.embeds
        };
        let components = if has("components") {
            &fresh.components
        } else {
            &message.components
        };
        let files =
            kept.as_ref().map_or(message.attachments.len(), Vec::len) + fresh.attachments.len();
        content.trim().is_empty() && embeds.is_empty() && components.is_empty() && files == 0
    });
    if would_be_empty {
        return Err(ApiError::empty_message());
    }
    world.edit(channel, id, |message| {
        if has("content") {
            message.content = fresh.content;
        }
        if has("embeds") {
            message.embeds = fresh.embeds;
        }
        if has("components") {
            message.components = fresh.components;
        }
        if let Some(flags) = body["flags"].as_u64() {
            message.flags = message.flags & !OWN_FLAGS | flags & OWN_FLAGS;
        }
        message
            .attachments
            .retain(|file| kept.as_ref().is_none_or(|kept| kept.contains(&file.id)));
        message.attachments.extend(fresh.attachments);
    });
    show(world, channel, id)
}

/// Returns a message as an answer.
pub(super) fn show(world: &World, channel: ChannelId, id: MessageId) -> Outcome {
    let message = world
        .message(channel, id)
        .ok_or_else(ApiError::unknown_message)?;
    Ok(Reply::Json(wire::message(world, message)))
}
