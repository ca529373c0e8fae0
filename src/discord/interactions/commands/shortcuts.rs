//! `/haiku`, `/sonnet`, `/opus` …: a prompt as a turn with that model. Only models that are available have a command.

use serenity::all::CommandInteraction;

use super::ask::ask_with;
use super::call::{Context, Refusal, Responder, Visibility};
use crate::agent::Overrides;
use crate::discord::bot::Bot;
use crate::discord::rest::body::{Body, clip};
use crate::llm::Catalog;
use crate::llm::discovery::Models;
use crate::text::escape;

/// Most characters of a command's description.
const MAX_DESCRIPTION: usize = 100;

/// Ask this channel's agent with one model
#[poise::command(category = "Ask one model", slash_command, guild_only)]
async fn shortcut(
    ctx: Context<'_>,
    #[description = "What to ask"]
    #[max_length = 6000]
    prompt: String,
) -> Result<(), Refusal> {
    let model = ctx.command().custom_data.downcast_ref::<String>().cloned();
    ask_with(ctx, prompt, Overrides::model(model)).await
}

/// Returns a command for each model that has one, besides the commands `others`.
pub(super) fn all(
    models: &Models,
    others: &[poise::Command<Bot, Refusal>],
) -> Vec<poise::Command<Bot, Refusal>> {
    let taken: Vec<&str> = others.iter().map(|other| other.name.as_ref()).collect();
    let shortcuts = models.shortcuts(&taken).into_iter();
    shortcuts
        .map(|entry| {
            let mut command = shortcut();
            command.name = entry.name.into();
            command.qualified_name = command.name.clone();
            command.identifying_name = command.name.clone();
            let description = format!("Ask this channel's agent with {}", entry.display);
            command.description = Some(clip(&description, MAX_DESCRIPTION).into());
            command.custom_data = Box::new(entry.model);
            command
        })
        .collect()
}

/// Returns whether a command is such a shortcut.
pub(super) fn is_one(command: &poise::Command<Bot, Refusal>) -> bool {
    command.custom_data.is::<String>()
}

/// Answers a command that a user's Discord still offers although it no longer exists.
pub(super) async fn is_gone(bot: &Bot, command: &CommandInteraction) {
    let name = &command.data.name;
    let shortcut = Catalog::shortcuts().iter().find(|one| one.name == *name);
    let text = match shortcut {
        Some(shortcut) => format!(
            "The model {} of `/{name}` is not available here. `/models` lists the available ones; use one with `/ask`.",
            escape::code(&shortcut.model)
        ),
        None => format!(
            "The command `/{name}` no longer exists. Reload Discord (Ctrl+R); `/help` lists all commands."
        ),
    };
    let responder = Responder::new(bot, command.guild_id, command.id.get(), &command.token);
    // A failed answer was logged where it failed; there is no one else to notify.
    let _ = responder
        .say(&Body::sentence(text), Visibility::Ephemeral)
        .await;
}
