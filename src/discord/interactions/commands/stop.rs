//! `/stop` and `/abort`: the running turn gets one last step and answers, or ends at once.

use super::call::{Context, Refusal, Visibility, agent_here, answer, bot, person};
use crate::discord::render;

/// Asks the running turn to come to an end: it answers with what it has
#[poise::command(slash_command, guild_only)]
pub(super) async fn stop(ctx: Context<'_>) -> Result<(), Refusal> {
    answer(ctx, Visibility::Public, async {
        let here = agent_here(ctx).await?;
        let stopped = bot(ctx)
            .manager
            .stop(here.channel, here.parent, &person(ctx))
            .await?;
        Ok(render::stopping(stopped))
    })
    .await
}

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
