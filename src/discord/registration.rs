//! Commands are registered where they changed, and only then: Discord limits how often.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::bot::Bot;
use super::rest::RestError;
use super::route;

/// The first pause before commands are offered again; it doubles up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(60 * 60);

/// All commands as Discord is told of them.
fn as_json(commands: &super::bot::Commands) -> Value {
    let builders = poise::builtins::create_application_commands(&commands.commands);
    serde_json::to_value(builders).unwrap_or_default()
}

/// All commands as Discord is told of them, for whoever wants to look at them as a whole.
pub fn registered_commands() -> Value {
    as_json(&super::commands::options())
}

/// Tells Discord all our commands, unless it knows them; tries until it takes them, with pauses that grow.
pub(super) async fn register_all(bot: Bot, stop: CancellationToken) {
    let commands = as_json(&bot.commands);
    let mut pause = FIRST_PAUSE;
    while let Err(error) = register(&bot, &commands).await {
        if matches!(error, RestError::Unauthorized) {
            return;
        }
        bot.tell_operator(
            "commands",
            format!("The slash commands could not be registered: {error}. I go on trying."),
        );
        warn!(%error, "the slash commands could not be registered; trying again in {pause:?}");
        // A pause that grows: what Discord refuses now it may take once somebody has mended it.
        let waited = stop.run_until_cancelled(tokio::time::sleep(pause)).await;
        if waited.is_none() {
            return;
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Tells Discord our commands, unless it was told the same ones before and has them still.
async fn register(bot: &Bot, commands: &Value) -> Result<(), RestError> {
    let scope = bot
        .dev_guild
        .map_or("global".to_owned(), |guild| guild.to_string());
    let key = format!("commands:{}:{scope}", bot.application);
    let hash = format!("{:x}", Sha256::digest(commands.to_string()));
    let is_told = match bot.store.meta(&key).await {
        Ok(known) => known.as_deref() == Some(hash.as_str()),
        Err(error) => {
            warn!(%error, "it is not known which commands are registered; registering them");
            false
        }
    };
    if is_told && has_them(bot, commands).await {
        return Ok(());
    }
    let route = route::put_commands(bot.application, bot.dev_guild);
    bot.rest.put(route, commands.clone()).await?;
    info!("registered the slash commands ({scope})");
    if let Err(error) = bot.store.set_meta(&key, &hash).await {
        warn!(%error, "that the commands are registered was not kept; they are registered again at the next start");
    }
    Ok(())
}

/// Whether Discord lists commands of all our names and no others; taken for granted where it does not say.
async fn has_them(bot: &Bot, commands: &Value) -> bool {
    let route = route::commands(bot.application, bot.dev_guild);
    match bot.rest.get(route).await {
        Ok(listed) => names(&listed) == names(commands),
        Err(error) => {
            warn!(%error, "which commands are registered could not be read");
            true
        }
    }
}

fn names(commands: &Value) -> BTreeSet<&str> {
    let all = commands.as_array().into_iter().flatten();
    all.filter_map(|command| command["name"].as_str()).collect()
}
