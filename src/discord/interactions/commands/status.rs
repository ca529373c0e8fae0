//! `/status`: the state of this channel's agent.

use super::call::{Context, Refusal, Visibility, agent_here, answer, bot};
use crate::discord::render;

/// Show the agent of this channel: model, permissions, session, tasks, sandbox
#[poise::command(category = "Talk", slash_command, guild_only)]
pub(super) async fn status(ctx: Context<'_>) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let here = agent_here(ctx).await?;
        let tasks = bot(ctx).manager.tasks.list(&here.agent).await?;
        let thread = here.parent.map(|_| here.channel);
        let status = bot(ctx).manager.status.of(&here.agent, thread).await?;
        let sandbox = bot(ctx).sandbox.describe(status.policy).await;
        let about = render::about(bot(ctx).started);
        Ok(render::status(&status, &tasks, &sandbox, &about))
    })
    .await
}
