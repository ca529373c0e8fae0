//! Messages left behind by a crash between a post and the storing of the message's id. Those with buttons are
//! recognised by the buttons' ids; a preview by the mark at its end.

use chrono::{DateTime, Utc};
use futures_util::future::join_all;
use serde_json::Value;
use tracing::{info, warn};

use crate::clock;
use crate::discord::bot::Bot;
use crate::discord::render::{approval, status_text};
use crate::discord::rest::body::Body;
use crate::discord::rest::route;
use crate::discord::rest::{Urgency, message_id, snowflake};
use crate::domain::{ChannelId, MessageId, TurnId};
use crate::store::{EndReason, TurnEnd};

/// How far back interrupted turns are checked: before that, live buttons no longer matter.
const LOOK_BACK: chrono::Duration = chrono::Duration::hours(24);

/// Most messages checked in each channel, the newest.
const LOOKED_AT: usize = 50;

/// The treatment of a message with buttons that no longer work.
enum Cleanup {
    /// It already shows how it ended; only the buttons are removed.
    RemoveButtons,
    Replace(Box<Body>),
    /// The answer is there: the message is deleted.
    Delete,
}

/// Cleans up the messages that interrupted turns left in their channels. Best done before anything else is posted
/// there: a preview next to the answer looks like a second one.
pub(in crate::discord) async fn tidy(bot: Bot) {
    let started = clock::now();
    let channels = bot.store.unsettled_channels(started - LOOK_BACK).await;
    let channels = match channels {
        Ok(channels) => channels,
        Err(error) => return warn!(%error, "failed to read the interrupted turns"),
    };
    let tidied = channels
        .into_iter()
        .map(|channel| tidy_channel(&bot, channel, started));
    join_all(tidied).await;
}

async fn tidy_channel(bot: &Bot, channel: ChannelId, started: DateTime<Utc>) {
    if !bot.may_post(channel).await {
        return;
    }
    let query = format!("limit={LOOKED_AT}");
    let messages = match bot.rest.call(route::messages(channel, &query)).await {
        Ok(messages) => messages,
        Err(error) => {
            return warn!(%error, channel.id = %channel, "failed to read what an interrupted turn left in channel {channel}");
        }
    };
    for message in messages.as_array().into_iter().flatten() {
        if snowflake(&message["author"]["id"]) == Some(bot.own.0) {
            tidy_message(bot, channel, message, started).await;
        }
    }
}

/// Cleans up one of our messages, if it needs that.
async fn tidy_message(bot: &Bot, channel: ChannelId, message: &Value, started: DateTime<Utc>) {
    let Ok(id) = message_id(message) else {
        return;
    };
    // A message that a part in the outbox edits is cleaned up only by that edit.
    if bot.store.is_edited_by_a_part(id).await.unwrap_or(true) {
        return;
    }
    // A younger preview belongs to a running turn, and still grows.
    let content = message["content"].as_str().unwrap_or_default();
    let said = status_text::said_so_far(content).filter(|_| id.sent_at() < started);
    let cleanup = match said {
        Some(said) => end_preview(bot, channel, message, said).await,
        None => cleanup(bot, &buttons(message)).await,
    };
    let done = match cleanup {
        None => return,
        Some(Cleanup::RemoveButtons) => bot.rest.remove_buttons(channel, id).await,
        Some(Cleanup::Replace(body)) => bot.rest.edit(channel, id, &body, Urgency::Durable).await,
        Some(Cleanup::Delete) => {
            let deleted = bot.rest.call(route::delete_message(channel, id)).await;
            deleted.map(drop)
        }
    };
    match done {
        Ok(()) => {
            info!(channel.id = %channel, message.id = %id, "put right what a crash left of message {id}");
        }
        Err(error) => {
            warn!(%error, message.id = %id, "failed to clean up message {id} after a crash");
        }
    }
}

/// Ends a preview with this text. Next to an answer it is deleted; without one, it is changed to show how the turn
/// ended.
async fn end_preview(
    bot: &Bot,
    channel: ChannelId,
    message: &Value,
    said: &str,
) -> Option<Cleanup> {
    let id = message_id(message).ok()?;
    let reply_to = snowflake(&message["message_reference"]["message_id"]).map(MessageId);
    let turn = bot.store.turn_shown_by(id, channel, reply_to).await.ok()?;
    let exit = match turn {
        Some(turn) if turn.state == TurnEnd::Running => return None,
        Some(turn) if turn.state == TurnEnd::Finished => return Some(Cleanup::Delete),
        Some(turn) => turn.exit,
        None => None,
    };
    let why = status_text::unfinished(exit.unwrap_or(EndReason::Interrupted));
    Some(Cleanup::Replace(Box::new(status_text::preview_ended(
        said, &why,
    ))))
}

/// Returns the ids of a message's buttons.
fn buttons(message: &Value) -> Vec<&str> {
    let rows = message["components"].as_array().into_iter().flatten();
    rows.filter_map(|row| row["components"].as_array())
        .flatten()
        .filter_map(|button| button["custom_id"].as_str())
        .collect()
}

/// Returns the treatment of a message with these buttons; `None` if they still work, or are of another kind.
async fn cleanup(bot: &Bot, buttons: &[&str]) -> Option<Cleanup> {
    let first = buttons.first()?;
    if let Some((subject, _)) = approval::Subject::of(first) {
        let question = subject.id();
        if bot.approvals.is_open(question) {
            return None;
        }
        let asked = bot.store.question(question).await.ok()?;
        let is_decided = asked.is_some_and(|asked| asked.decided_by.is_some());
        return Some(if is_decided {
            Cleanup::RemoveButtons
        } else {
            Cleanup::Replace(Box::new(approval::expired()))
        });
    }
    let turn = first
        .strip_prefix("stop:")
        .or_else(|| first.strip_prefix("abort:"))?;
    let turn: TurnId = turn.parse().ok()?;
    let row = bot.store.turn(turn).await.ok()??;
    match row.state {
        TurnEnd::Interrupted => Some(Cleanup::Replace(Box::new(status_text::interrupted()))),
        TurnEnd::Finished => Some(Cleanup::Delete),
        TurnEnd::Running => None,
    }
}
