//! `/agent repair`: mends an agent whose channel or directory is missing.

use super::super::call::{Context, answer, bot, guild};
use super::super::complete;
use crate::discord::body::Body;
use crate::discord::channels::GuildChannels;
use crate::discord::interaction::Eyes;
use crate::discord::refusal::Refusal;

/// Mends an agent whose channel or directory is missing
#[poise::command(slash_command, default_member_permissions = "MANAGE_CHANNELS")]
pub(super) async fn repair(
    ctx: Context<'_>,
    #[description = "The agent"]
    #[autocomplete = "complete::agent_name"]
    name: String,
) -> Result<(), Refusal> {
    answer(ctx, Eyes::One, async {
        let bot = bot(ctx);
        let mended = bot
            .manager
            .repair(guild(ctx)?, &name, &GuildChannels::new(bot.clone()))
            .await?;
        Ok(Body::sentence(mended))
    })
    .await
}
