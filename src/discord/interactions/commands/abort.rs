//! `/abort`: the running turn ends at once.

use super::call::{Context, answer, bot, person};
use super::sight::agent_here;
use crate::discord::bot::Refusal;
use crate::discord::interactions::Visibility;
use crate::discord::render;

/// Ends the running turn at once, without an answer
#[poise::command(slash_command, guild_only)]
pub(super) async fn abort(ctx: Context<'_>) -> Result<(), Refusal> {
    answer(ctx, Visibility::Public, async {
        let here = agent_here(ctx).await?;
        let stopped = bot(ctx)
            .manager
            .abort(here.channel, here.parent, &person(ctx))
            .await?;
        Ok(render::aborted(stopped))
    })
    .await
}
