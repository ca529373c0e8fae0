//! `/settings show`: what holds in this server.

use super::super::call::{Context, answer, bot, guild};
use crate::discord::bot::Refusal;
use crate::discord::interactions::Visibility;
use crate::discord::render;

/// Shows what holds for the agents of this server
#[poise::command(slash_command)]
pub(super) async fn show(ctx: Context<'_>) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let bot = bot(ctx);
        let guild = guild(ctx)?;
        let known = bot.models.available();
        Ok(render::settings(
            &bot.manager.server(guild),
            &bot.manager.choice(guild, None),
            &bot.config.load(),
            known.as_deref(),
        ))
    })
    .await
}
