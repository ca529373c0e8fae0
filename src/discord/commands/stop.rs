//! `/stop`: the running turn gets one last step, and answers.

use super::{Context, Refusal, agent_here, answer, bot};
use crate::discord::interaction::Eyes;
use crate::discord::render;

/// Asks the running turn to come to an end: it answers with what it has
#[poise::command(slash_command, guild_only)]
pub(super) async fn stop(ctx: Context<'_>) -> Result<(), Refusal> {
    answer(ctx, Eyes::All, async {
        let here = agent_here(ctx)?;
        let stopped = bot(ctx).manager.stop(here.channel, here.parent).await?;
        Ok(render::stopping(stopped))
    })
    .await
}
