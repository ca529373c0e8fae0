//! `/haiku`, `/sonnet`, `/opus` …: `/ask` with a model of the catalogue.

use super::ask;
use super::call::Context;
use crate::agent::Mode;
use crate::discord::bot::{Bot, Refusal};
use crate::llm::Catalog;

/// Asks with a model of the catalogue
#[poise::command(slash_command, guild_only)]
async fn shortcut(
    ctx: Context<'_>,
    #[description = "What to ask"]
    #[max_length = 6000]
    prompt: String,
) -> Result<(), Refusal> {
    let name = ctx.command().name.clone();
    let model = Catalog::shortcuts()
        .iter()
        .find(|shortcut| shortcut.name == name)
        .map(|shortcut| shortcut.model.clone());
    ask::ask_with(ctx, prompt, model, Mode::Standard).await
}

/// One command for each shortcut of the catalogue.
pub(super) fn all() -> Vec<poise::Command<Bot, Refusal>> {
    Catalog::shortcuts()
        .iter()
        .map(|entry| {
            let mut command = shortcut();
            command.name = entry.name.clone().into();
            command.qualified_name = command.name.clone();
            command.identifying_name = command.name.clone();
            command.description =
                Some(format!("Asks the agent of this channel with {}", entry.display).into());
            command
        })
        .collect()
}
