//! `/agent repair`: mends an agent whose channel or directory is missing.

use super::super::{Context, Refusal, answer, bot, complete, guild};
use crate::discord::body::Body;
use crate::discord::interaction::Eyes;

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
            .repair(guild(ctx)?, &name, &bot.channels())
            .await?;
        Ok(Body::text(mended))
    })
    .await
}
