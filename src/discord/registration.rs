//! Commands are registered where they changed, and only then: Discord limits how often.

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tracing::{info, warn};

use super::bot::Bot;
use super::route;

/// All commands as Discord is told of them.
fn as_json(commands: &super::bot::Commands) -> Value {
    let builders = poise::builtins::create_application_commands(&commands.commands);
    serde_json::to_value(builders).unwrap_or_default()
}

/// All commands as Discord is told of them, for whoever wants to look at them as a whole.
pub fn registered_commands() -> Value {
    as_json(&super::commands::options())
}

/// Tells Discord all our commands, unless it knows them.
pub(super) async fn register_all(bot: Bot) {
    let commands = as_json(&bot.commands);
    register(&bot, commands).await;
}

/// Tells Discord our commands, unless it was told the same ones before.
async fn register(bot: &Bot, commands: Value) {
    let scope = bot
        .dev_guild
        .map_or("global".to_owned(), |guild| guild.to_string());
    let key = format!("commands:{}:{scope}", bot.application);
    let hash = format!("{:x}", Sha256::digest(commands.to_string()));
    match bot.store.meta(&key).await {
        Ok(Some(known)) if known == hash => return,
        Ok(_) => {}
        Err(error) => {
            warn!(%error, "it is not known which commands are registered; registering them")
        }
    }
    let route = route::put_commands(bot.application, bot.dev_guild);
    if let Err(error) = bot.rest.put(route, commands).await {
        bot.tell_operator("commands", format!("The slash commands could not be registered: {error}. They are registered at the next start."));
        return;
    }
    info!("registered the slash commands ({scope})");
    if let Err(error) = bot.store.set_meta(&key, &hash).await {
        warn!(%error, "that the commands are registered was not kept; they are registered again at the next start");
    }
}
