//! `/models`: the available models.

use super::call::{Context, Refusal, Visibility, answer, bot, guild};
use crate::discord::render;

/// List the available models, by provider
#[poise::command(category = "Server", slash_command, guild_only)]
pub(super) async fn models(ctx: Context<'_>) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let bot = bot(ctx);
        Ok(render::models(
            &bot.models.all(),
            bot.models.available().as_deref(),
            &bot.manager.settings.choice(guild(ctx)?, None),
        ))
    })
    .await
}
