//! `/stop`: the running turn gets one last step, and answers.

use super::call::{Context, answer, bot, person};
use super::sight::agent_here;
use crate::discord::bot::Refusal;
use crate::discord::interactions::Visibility;
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
