//! The bot's identity at Discord, requested at the start.

use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::operator;
use crate::discord::error::DiscordError;
use crate::discord::rest::route;
use crate::discord::rest::{Rest, RestError, snowflake};
use crate::domain::UserId;

/// Pause between two attempts to reach Discord at the start.
const START_PAUSE: Duration = Duration::from_secs(5);

/// Attempts to reach Discord at the start before a report that it cannot be reached.
const START_TRIES: u32 = 12;

pub(in crate::discord) struct Identity {
    pub(in crate::discord) user: UserId,
    pub(in crate::discord) application: u64,
    /// The operators of the bot; empty if Discord did not name them.
    pub(in crate::discord) owners: Vec<UserId>,
    /// Whether anyone may invite us.
    pub(in crate::discord) is_public: bool,
}

/// Asks Discord for the bot's identity; `None` if the daemon is stopped first.
pub(in crate::discord) async fn identify(
    rest: &Rest,
    stop: &CancellationToken,
) -> Result<Option<Identity>, DiscordError> {
    let asking = rest.call(route::current_application());
    let (user, application) = tokio::join!(current_user(rest, stop), asking);
    let Some(user) = user? else {
        return Ok(None);
    };
    let user = snowflake(&user["id"])
        .ok_or_else(|| DiscordError::Start("it did not name the bot".into()))?;
    // Without an answer, the operator of the last start is used, and the application's id is assumed to be the bot's,
    // as it usually is.
    let application = match application {
        Ok(application) => application,
        Err(_) => rest
            .call(route::current_application())
            .await
            .unwrap_or(Value::Null),
    };
    Ok(Some(Identity {
        user: UserId(user),
        application: snowflake(&application["id"]).unwrap_or(user),
        owners: operator::owners(&application),
        is_public: application["bot_public"].as_bool() == Some(true),
    }))
}

/// Returns the bot's user, and asks until Discord answers; `None` if the daemon is stopped before.
async fn current_user(
    rest: &Rest,
    stop: &CancellationToken,
) -> Result<Option<Value>, DiscordError> {
    let mut tries = 0;
    loop {
        let asking = rest.call(route::current_user());
        let Some(answer) = stop.run_until_cancelled(asking).await else {
            return Ok(None);
        };
        match answer {
            Ok(user) => return Ok(Some(user)),
            Err(RestError::Unauthorized) => return Err(DiscordError::Token),
            Err(error) => {
                tries += 1;
                if tries == START_TRIES || matches!(error, RestError::Refused { .. }) {
                    return Err(DiscordError::Start(error.to_string()));
                }
                warn!(%error, "failed to reach Discord; trying again");
            }
        }
        // A pause between attempts, so that an outage is not made worse.
        tokio::select! {
            () = stop.cancelled() => return Ok(None),
            () = tokio::time::sleep(START_PAUSE) => {}
        }
    }
}
