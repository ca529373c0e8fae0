//! Registers commands in the served servers and in no other, and only if they changed: Discord limits how often.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::discord::bot::{Bot, Commands};
use crate::discord::rest::{RestError, route};
use crate::domain::GuildId;

/// The first pause before commands are registered again; it doubles up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(60 * 60);

/// How long the first registration waits for the list of models.
const MODELS_KNOWN_WITHIN: Duration = Duration::from_secs(3);

/// Stored instead of a hash if no commands are registered.
const NONE: &str = "none";

/// Returns all commands in the form registered with Discord.
fn as_json(commands: &Commands) -> Value {
    let builders = poise::builtins::create_application_commands(&commands.commands);
    serde_json::to_value(builders).unwrap_or_default()
}

/// Returns all commands except the shortcuts in the form registered with Discord, for tests and tools.
pub fn registered_commands() -> Value {
    as_json(&super::options(None))
}

/// Updates the shortcuts to the models that are available now.
fn renew(bot: &Bot) {
    let renewed = super::options(Some(&bot.models));
    if as_json(&renewed) != as_json(&bot.commands.load()) {
        bot.commands.store(Arc::new(renewed));
    }
}

/// Registers the latest commands in a server, unless Discord has them.
async fn tell_all(bot: &Bot, guild: GuildId) -> Result<(), RestError> {
    let _alone = bot.registering.lock().await;
    bot.recall_command_ids(guild).await;
    let commands = as_json(&bot.commands.load());
    tell(bot, Some(guild), &commands).await
}

/// Registers commands again when other models become available, until `stop`. `registered` are those of the start,
/// which each server gets separately.
pub(in crate::discord) async fn follow_models(
    bot: Bot,
    mut registered: Arc<Commands>,
    stop: CancellationToken,
) {
    let mut changes = bot.models.follow();
    // Changes since the start must also be seen.
    changes.mark_changed();
    let changed = async {
        while changes.changed().await.is_ok() {
            renew(&bot);
            let commands = bot.commands.load_full();
            // A server that was waiting for the models may have renewed them first.
            if Arc::ptr_eq(&commands, &registered) {
                continue;
            }
            registered = commands;
            let guilds = bot.cache().guilds();
            let served = guilds.into_iter().map(|guild| GuildId(guild.get()));
            let registering = served
                .filter(|guild| bot.serves(*guild))
                .map(|guild| register(bot.clone(), guild, stop.clone()));
            join_all(registering).await;
        }
    };
    stop.run_until_cancelled(changed).await;
}

/// Waits until the available models are known, if none are known from an earlier start, but not for long.
async fn models_are_known(bot: &Bot) {
    let mut changes = bot.models.follow();
    if bot.models.available().is_none() && !bot.models.providers().is_empty() {
        // A deadline: if a provider does not answer, its shortcuts come later.
        let _ = tokio::time::timeout(MODELS_KNOWN_WITHIN, changes.changed()).await;
        renew(bot);
    }
}

/// Registers all our commands in a server, unless Discord has them. Tries, with growing pauses, until Discord accepts
/// them or the server is no longer served. If a development server is named, the others get none.
pub(in crate::discord) async fn register(bot: Bot, guild: GuildId, stop: CancellationToken) {
    if bot.dev_guild.is_some_and(|only| only != guild) {
        return;
    }
    let known = models_are_known(&bot);
    if stop.run_until_cancelled(known).await.is_none() {
        return;
    }
    let mut pause = FIRST_PAUSE;
    while bot.serves(guild)
        && let Err(error) = tell_all(&bot, guild).await
    {
        if matches!(error, RestError::Unauthorized) {
            return;
        }
        bot.tell_operator(
            format!("commands:{guild}"),
            format!("The slash commands could not be registered in the server {guild}: {error}. I will keep trying. If the bot was invited without the scope `applications.commands`, invite it again with that scope."),
        );
        warn!(%error, guild.id = %guild, "failed to register the slash commands; trying again in {pause:?}");
        // A growing pause: Discord may accept later what it refuses now, after a change in the server.
        let waited = stop.run_until_cancelled(tokio::time::sleep(pause)).await;
        if waited.is_none() {
            return;
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Removes our commands from a server that is no longer served.
pub(in crate::discord) async fn unregister(bot: Bot, guild: GuildId, stop: CancellationToken) {
    take_out(bot, Some(guild), stop).await;
}

/// Removes the global commands that older versions registered.
pub(in crate::discord) async fn clear_global(bot: Bot, stop: CancellationToken) {
    take_out(bot, None, stop).await;
}

/// Removes commands in one attempt: if it fails, people who use such a command get a refusal, and the next start tries
/// again.
async fn take_out(bot: Bot, guild: Option<GuildId>, stop: CancellationToken) {
    let taking = async {
        let _alone = bot.registering.lock().await;
        tell(&bot, guild, &json!([])).await
    };
    let taken = stop.run_until_cancelled(taking).await;
    if let Some(Err(error)) = taken {
        warn!(%error, "failed to take slash commands out of {}", scope(guild));
    }
}

/// Registers the commands, unless the same ones were registered before and Discord still has them.
async fn tell(bot: &Bot, guild: Option<GuildId>, commands: &Value) -> Result<(), RestError> {
    let key = format!("commands:{}:{}", bot.application, scope(guild));
    let hash = if commands.as_array().is_some_and(Vec::is_empty) {
        NONE.to_owned()
    } else {
        format!("{:x}", Sha256::digest(commands.to_string()))
    };
    let known = match bot.store.meta(&key).await {
        Ok(known) => known,
        Err(error) => {
            warn!(%error, "failed to read which commands are registered; registering them");
            None
        }
    };
    if known.is_none() && hash == NONE && guild.is_some() {
        // Nothing of ours was ever registered there.
        return Ok(());
    }
    let is_told = known.as_deref() == Some(hash.as_str());
    // An empty list stays true once it was stored: only this program registers commands.
    if is_told && (hash == NONE || has_them(bot, guild, commands).await) {
        return Ok(());
    }
    if hash != NONE || known.is_some() || are_any(bot, guild).await? {
        let route = route::put_commands(bot.application, guild);
        let registered = bot.rest.call_with(route, commands.clone()).await?;
        if let Some(guild) = guild {
            bot.learn_command_ids(guild, &registered).await;
        }
        info!("registered the slash commands ({})", scope(guild));
    }
    if let Err(error) = bot.store.set_meta(&key, &hash).await {
        warn!(%error, "failed to store that the commands are registered; registering them again at the next start");
    }
    Ok(())
}

fn scope(guild: Option<GuildId>) -> String {
    guild.map_or("global".to_owned(), |guild| guild.to_string())
}

/// Returns whether Discord lists any commands of ours.
async fn are_any(bot: &Bot, guild: Option<GuildId>) -> Result<bool, RestError> {
    let listed = bot
        .rest
        .call(route::commands(bot.application, guild))
        .await?;
    Ok(!names(&listed).is_empty())
}

/// Returns whether Discord lists exactly the commands with our names; assumed if it does not answer.
async fn has_them(bot: &Bot, guild: Option<GuildId>, commands: &Value) -> bool {
    let route = route::commands(bot.application, guild);
    match bot.rest.call(route).await {
        Ok(listed) => {
            let has_them = names(&listed) == names(commands);
            if let Some(guild) = guild.filter(|_| has_them) {
                bot.learn_command_ids(guild, &listed).await;
            }
            has_them
        }
        Err(error) => {
            warn!(%error, "failed to list the registered commands");
            true
        }
    }
}

fn names(commands: &Value) -> BTreeSet<&str> {
    let all = commands.as_array().into_iter().flatten();
    all.filter_map(|command| command["name"].as_str()).collect()
}
