//! Routes for the bot's answers to an interaction.

use axum::http::Method;
use serde_json::{Value, json};

use super::contents::{change, draft, show};
use super::reply::{Outcome, Reply};
use super::validate;
use crate::desk::call::Call;
use crate::desk::error::ApiError;
use crate::guild::Draft;
use crate::interaction::{Answer, Choice, Kind};
use crate::world::World;
use chorus_base::discord_ids::{ChannelId, MessageId};

/// Flag of a message that only one person sees.
const EPHEMERAL: u64 = 1 << 6;
/// Flag of a message that says "thinking".
const LOADING: u64 = 1 << 7;

/// Handles the first answer to an interaction.
pub(super) fn callback(world: &mut World, call: &Call, id: &str, token: &str) -> Outcome {
    let interaction = id
        .parse()
        .ok()
        .and_then(|id: u64| world.interactions.get(&id));
    let interaction = interaction
        .filter(|one| one.token == token && !one.is_expired)
        .ok_or_else(ApiError::unknown_interaction)?;
    if interaction.answer != Answer::Nothing {
        return Err(ApiError::already_answered());
    }
    let (id, kind, source) = (interaction.id, interaction.kind, interaction.message);
    let channel = interaction.channel;
    let data = &call.body["data"];
    let answer = match (call.body["type"].as_u64(), kind) {
        (Some(4), Kind::Command | Kind::Component | Kind::Form) => {
            let inner = inner(call);
            validate::message(&inner.body, call)?;
            if validate::is_empty(&inner.body, call) {
                return Err(ApiError::empty_message());
            }
            let flags = data["flags"].as_u64().unwrap_or(0) & (EPHEMERAL | 1 << 2);
            let draft = draft(world, &inner);
            Answer::Message(post(world, id, draft, flags))
        }
        (Some(5), Kind::Command | Kind::Component | Kind::Form) => {
            let flags = data["flags"].as_u64().unwrap_or(0) & EPHEMERAL;
            Answer::Thinking(post(world, id, Draft::default(), flags | LOADING))
        }
        (Some(6), Kind::Component | Kind::Form) => Answer::Acknowledged,
        (Some(7), Kind::Component | Kind::Form) => {
            let message = source.ok_or_else(ApiError::unknown_message)?;
            change(world, &inner(call), channel, message)?;
            Answer::Updated(message)
        }
        (Some(8), Kind::Autocomplete) => {
            let list = data["choices"]
                .as_array()
                .map(Vec::as_slice)
                .unwrap_or_default();
            validate::choices(list)?;
            let choice = |one: &Value| Choice {
                name: one["name"].as_str().unwrap_or_default().to_owned(),
                value: one["value"].clone(),
            };
            Answer::Choices(list.iter().map(choice).collect())
        }
        (Some(9), Kind::Command | Kind::Component) => {
            validate::form(data)?;
            Answer::Form(data.clone())
        }
        _ => {
            return Err(ApiError::invalid(
                "type",
                "BASE_TYPE_CHOICES",
                "Not an answer to this interaction.",
            ));
        }
    };
    let made = match &answer {
        Answer::Message(id) | Answer::Thinking(id) | Answer::Updated(id) => Some(*id),
        Answer::Nothing | Answer::Acknowledged | Answer::Choices(_) | Answer::Form(_) => None,
    };
    world.answered(id, answer);
    if call.flag("with_response") {
        let shown = made
            .map(|message| show(world, channel, message))
            .transpose()?;
        let mut response = json!({"interaction": {"id": id.to_string(), "type": kind.number()}});
        if let Some(Reply::Json(message)) = shown {
            response["resource"] = json!({"type": call.body["type"], "message": message});
        }
        return Ok(Reply::Json(response));
    }
    Ok(Reply::Nothing)
}

/// Handles a further message in answer to an interaction; the first one after "thinking" replaces that.
pub(super) fn follow_up(world: &mut World, call: &Call, token: &str) -> Outcome {
    let (id, channel, answer) = by_token(world, token)?;
    validate::message(&call.body, call)?;
    if validate::is_empty(&call.body, call) {
        return Err(ApiError::empty_message());
    }
    if let Answer::Thinking(placeholder) = answer {
        return settle(world, call, id, channel, placeholder);
    }
    if answer == Answer::Nothing {
        return Err(ApiError::unknown_webhook());
    }
    let flags = call.body["flags"].as_u64().unwrap_or(0) & EPHEMERAL;
    let draft = draft(world, call);
    let made = post(world, id, draft, flags);
    show(world, channel, made)
}

/// Reads, changes or deletes a message that answers an interaction.
pub(super) fn message(
    world: &mut World,
    call: &Call,
    method: &Method,
    token: &str,
    message: &str,
) -> Outcome {
    let (id, channel, answer) = by_token(world, token)?;
    let interaction = world
        .interactions
        .get(&id)
        .ok_or_else(ApiError::unknown_webhook)?;
    let target = if message == "@original" {
        interaction.original()
    } else {
        let wanted = message.parse().ok().map(MessageId);
        wanted.filter(|id| interaction.replies.contains(id) || interaction.message == Some(*id))
    };
    let target = target.ok_or_else(ApiError::unknown_message)?;
    match *method {
        Method::GET => show(world, channel, target),
        Method::PATCH if answer == Answer::Thinking(target) => {
            settle(world, call, id, channel, target)
        }
        Method::PATCH => change(world, call, channel, target),
        Method::DELETE => {
            if world.message(channel, target).is_none() {
                return Err(ApiError::unknown_message());
            }
            world.delete(channel, target);
            if answer == Answer::Thinking(target) {
                // A further answer is a separate message.
                world.answered(id, Answer::Message(target));
            }
            Ok(Reply::Nothing)
        }
        _ => Err(ApiError::unknown_route()),
    }
}

/// Replaces "thinking" with an answer.
fn settle(
    world: &mut World,
    call: &Call,
    id: u64,
    channel: ChannelId,
    placeholder: MessageId,
) -> Outcome {
    let shown = change(world, call, channel, placeholder)?;
    if let Some(message) = world.message_mut(channel, placeholder) {
        message.flags &= !LOADING;
    }
    world.message_event("MESSAGE_UPDATE", channel, placeholder);
    world.answered(id, Answer::Message(placeholder));
    match shown {
        Reply::Json(_) => show(world, channel, placeholder),
        Reply::Nothing => Ok(Reply::Nothing),
    }
}

fn by_token(world: &World, token: &str) -> Result<(u64, ChannelId, Answer), ApiError> {
    let found = world
        .interactions
        .values()
        .find(|one| one.token == token && !one.is_expired);
    let found = found.ok_or_else(ApiError::unknown_webhook)?;
    Ok((found.id, found.channel, found.answer.clone()))
}

/// Posts a message in answer to the interaction.
fn post(world: &mut World, id: u64, mut draft: Draft, flags: u64) -> MessageId {
    let Some(interaction) = world.interactions.get(&id) else {
        return MessageId(0);
    };
    let (channel, user) = (interaction.channel, interaction.user);
    draft.flags = flags;
    draft.only_for = (flags & EPHEMERAL != 0).then_some(user);
    draft.reply_to = interaction.message;
    draft.interaction = Some((id, user, interaction.words.clone()));
    let made = world.post(channel, world.bot, draft);
    if let Some(interaction) = world.interactions.get_mut(&id) {
        interaction.replies.push(made);
    }
    made
}

/// Returns the request as if its `data` were the whole body.
fn inner(call: &Call) -> Call {
    Call {
        method: call.method.clone(),
        path: call.path.clone(),
        segments: Vec::new(),
        query: call.query.clone(),
        authorization: String::new(),
        body: call.body["data"].clone(),
        files: call.files.clone(),
    }
}
