//! *Try again then* below a rate limit: one automatic retry when the limit ends, for the person who pressed. It is stored before it
//! is promised, so a restart in between loses none.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serenity::all::ComponentInteraction;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::here::Here;
use super::resume::{AGAIN, WRITE, pressed, take_buttons_off};
use super::{Responder, Visibility};
use crate::agent::{Members as _, Overrides};
use crate::clock;
use crate::discord::bot::{Bot, Refusal};
use crate::discord::render;
use crate::discord::rest::body::Body;
use crate::domain::{ChannelId, GuildId, MessageId, UserId};
use crate::store::StoreError;

/// The beginning of a retry's fact in the ledger; the message with the failure follows.
const FACT: &str = "retry:";

/// Most retries that wait in all servers combined.
const MOST: usize = 200;

/// Longest wait. For a later time, people have to retry themselves.
const LONGEST: chrono::TimeDelta = chrono::TimeDelta::hours(24);

/// How long after its time a retry is still made, for example after a restart.
const GRACE: chrono::TimeDelta = chrono::TimeDelta::hours(1);

/// How long to wait before the ledger is read again after it failed.
const PAUSE: Duration = Duration::from_secs(30);

/// A retry that was promised.
#[derive(Debug, Deserialize, Serialize)]
struct Retry {
    at: DateTime<Utc>,
    guild: GuildId,
    channel: ChannelId,
    user: UserId,
}

/// Promises one retry at the time, in seconds, that the button names.
pub(super) async fn promise(
    bot: &Bot,
    responder: &Responder,
    press: &ComponentInteraction,
    at: &str,
) {
    let message = pressed(press);
    let mut channel = None;
    let work = async {
        let here = Here::of_press(bot, press).await?;
        let gone = || Refusal(format!("This button is no longer valid. {WRITE}"));
        let at = at.parse::<i64>().ok();
        let at = at
            .and_then(|at| DateTime::from_timestamp(at, 0))
            .ok_or_else(gone)?;
        if at > clock::now() + LONGEST {
            return Err(Refusal(format!(
                "The limit ends <t:{}:R>, which is more than the 24 hours that I wait. Try again then.",
                at.timestamp()
            )));
        }
        let served = bot.once.press(message, &here.person, WRITE)?;
        let retry = Retry {
            at,
            guild: here.agent.guild,
            channel: here.channel,
            user: here.person.id,
        };
        if bot.store.facts(FACT).await?.len() >= MOST {
            return Err(Refusal(format!(
                "Too many retries are already waiting. {WRITE}"
            )));
        }
        let value = serde_json::to_string(&retry).map_err(|error| Refusal(error.to_string()))?;
        bot.store
            .set_meta(&format!("{FACT}{message}"), &value)
            .await?;
        served.was_served();
        bot.retries.notify_one();
        channel = Some(here.channel);
        Ok(Body::text(format!(
            "{} asked for a retry: I will try once more <t:{}:R>.",
            crate::text::escape::name(&here.person.name),
            at.timestamp()
        )))
    };
    // A failed answer was logged where it failed; there is no one else to notify.
    let _ = responder.answer(Visibility::Public, work).await;
    if let Some(channel) = channel {
        take_buttons_off(bot, channel, message).await;
    }
}

/// Makes the promised retries when their time comes, until `stop`.
pub(in crate::discord) async fn watch(bot: Bot, stop: CancellationToken) {
    loop {
        let pause = match make_due(&bot).await {
            Ok(next) => next,
            Err(error) => {
                warn!(%error, "failed to read which retries wait; trying again");
                Some(PAUSE)
            }
        };
        let wait = async {
            match pause {
                Some(pause) => tokio::time::sleep(pause).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = bot.retries.notified() => {}
            () = wait => {}
        }
    }
}

/// Makes the retries that are due. Returns how long the next one waits.
async fn make_due(bot: &Bot) -> Result<Option<Duration>, StoreError> {
    let mut next: Option<Duration> = None;
    for (key, value) in bot.store.facts(FACT).await? {
        let now = clock::now();
        let Ok(retry) = serde_json::from_str::<Retry>(&value) else {
            bot.store.forget_meta(&key).await?;
            continue;
        };
        if let Ok(wait) = (retry.at - now).to_std()
            && !wait.is_zero()
        {
            next = Some(next.map_or(wait, |next| next.min(wait)));
            continue;
        }
        if retry.at + GRACE > now && !bot.knows(retry.guild) {
            // The server is not described yet, or not available.
            next = Some(next.map_or(PAUSE, |next| next.min(PAUSE)));
            continue;
        }
        // Once: if it fails, that is reported like every failure.
        bot.store.forget_meta(&key).await?;
        if retry.at + GRACE > now
            && let Err(refusal) = make(bot, &retry).await
        {
            warn!(channel.id = %retry.channel, "failed to make a retry: {}", refusal.0);
        }
    }
    Ok(next)
}

/// Asks again for the person who was promised it, if they may still talk to the agent.
async fn make(bot: &Bot, retry: &Retry) -> Result<(), Refusal> {
    let left = || Refusal::new("the person is no longer a member");
    let person = bot.person(retry.guild, retry.user).await.ok_or_else(left)?;
    let parent = bot.parent_of(retry.guild, retry.channel);
    let here = Here::of(bot, person, retry.channel, parent).await?;
    let body = render::asked(&here.person.name, AGAIN, None);
    let posted = bot.rest.post(retry.channel, &body).await;
    let shown: MessageId = posted.map_err(|error| Refusal(error.to_string()))?;
    let agent = here.agent.clone();
    let message = here.says(shown, AGAIN);
    let asked = bot
        .manager
        .routing
        .ask(&agent, message, Overrides::default());
    asked.await?;
    Ok(())
}
