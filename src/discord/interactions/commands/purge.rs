//! `/purge`: deletes the messages of this agent's channel. The conversation and the ledger stay.

use chrono::{Duration, Utc};
use serde_json::json;
use serenity::all::ComponentInteraction;

use super::call::{Context, Refusal, Responder, Visibility, agent_here, answer, rights_of_press};
use super::confirm;
use crate::discord::bot::Bot;
use crate::discord::render;
use crate::discord::rest::body::Body;
use crate::discord::rest::explain::{self, Operation};
use crate::discord::rest::{RestError, route, snowflake};
use crate::domain::{ChannelId, MessageId};

/// Most messages that are deleted.
const MOST: usize = 5_000;

/// Messages that are read, and deleted, in one request.
const PAGE: usize = 100;

/// Discord deletes many at once only if they are younger than two weeks; a little less, because clocks differ.
const MAX_AGE: Duration = Duration::minutes(14 * 24 * 60 - 10);

/// Delete up to 5,000 messages of this agent's channel, after a confirmation
#[poise::command(
    category = "Agents",
    slash_command,
    guild_only,
    default_member_permissions = "MANAGE_MESSAGES"
)]
pub(super) async fn purge(ctx: Context<'_>) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let here = agent_here(ctx).await?;
        let id = format!("purge:{}", confirm::until());
        Ok(confirm::question(render::ask_purge(here.channel), id))
    })
    .await
}

/// Handles Confirm. `until` is the part of its id after `purge:`.
pub(in crate::discord) async fn confirmed(
    bot: &Bot,
    responder: &Responder,
    press: &ComponentInteraction,
    until: &str,
) {
    if !confirm::is_open(until) {
        let late = Body::text(confirm::expired("deleted", "/purge"));
        let _ = responder.update(&late).await;
        return;
    }
    let rights = rights_of_press(press);
    if !rights.administrator() && !rights.manage_messages() {
        let _ = responder
            .say(
                &Body::text("Deleting messages needs the permission Manage Messages."),
                Visibility::Ephemeral,
            )
            .await;
        return;
    }
    match confirm::decided(bot, press) {
        Ok(decided) => decided.was_served(),
        Err(refusal) => {
            let _ = responder.refuse(refusal).await;
            return;
        }
    }
    if responder.update(&Body::text("Deleting …")).await.is_err() {
        return;
    }
    let channel = ChannelId(press.channel_id.get());
    let body = match delete(bot, channel).await {
        Ok(deleted) => render::purged(deleted, channel),
        Err((deleted, error)) => Body::text(format!(
            "{} Deleted before that: {deleted}.",
            explain::refusal(Operation::Purge, &error)
        )),
    };
    // An interaction's token is valid for 15 minutes; a long purge outlives it, and its result is in the channel
    // itself.
    let _ = responder.edit_original(&body).await;
}

async fn delete(bot: &Bot, channel: ChannelId) -> Result<usize, (usize, RestError)> {
    let mut deleted = 0;
    let mut before = None;
    while deleted < MOST {
        let page = page(bot, channel, before, PAGE.min(MOST - deleted))
            .await
            .map_err(|error| (deleted, error))?;
        let Some(oldest) = page.iter().min().copied() else {
            break;
        };
        before = Some(oldest);
        let border = Utc::now() - MAX_AGE;
        let (young, old): (Vec<_>, Vec<_>) = page.into_iter().partition(|id| id.sent_at() > border);
        deleted += delete_young(bot, channel, &young)
            .await
            .map_err(|error| (deleted, error))?;
        for message in old {
            delete_one(bot, channel, message)
                .await
                .map_err(|error| (deleted, error))?;
            deleted += 1;
        }
    }
    Ok(deleted)
}

async fn page(
    bot: &Bot,
    channel: ChannelId,
    before: Option<MessageId>,
    limit: usize,
) -> Result<Vec<MessageId>, RestError> {
    let query = match before {
        Some(before) => format!("before={before}&limit={limit}"),
        None => format!("limit={limit}"),
    };
    let messages = bot.rest.call(route::messages(channel, &query)).await?;
    let ids = messages
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|message| snowflake(&message["id"]));
    Ok(ids.map(MessageId).collect())
}

async fn delete_young(
    bot: &Bot,
    channel: ChannelId,
    messages: &[MessageId],
) -> Result<usize, RestError> {
    match messages {
        [] => {}
        [only] => delete_one(bot, channel, *only).await?,
        many => {
            let ids: Vec<String> = many.iter().map(MessageId::to_string).collect();
            bot.rest
                .call_with(route::delete_messages(channel), json!({"messages": ids}))
                .await?;
        }
    }
    Ok(messages.len())
}

async fn delete_one(bot: &Bot, channel: ChannelId, message: MessageId) -> Result<(), RestError> {
    match bot.rest.call(route::delete_message(channel, message)).await {
        Ok(_) => Ok(()),
        Err(error) if error.is_gone() => Ok(()),
        Err(error) => Err(error),
    }
}
