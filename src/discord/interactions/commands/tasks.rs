//! `/tasks`: what the agent has running, and what has just ended.

use super::call::{Context, answer, bot};
use super::sight::agent_here;
use crate::clock;
use crate::discord::bot::Refusal;
use crate::discord::interactions::Visibility;
use crate::discord::render;

/// Lists the running and recently completed tasks of the agent in this channel
#[poise::command(slash_command, guild_only)]
pub(super) async fn tasks(ctx: Context<'_>) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let here = agent_here(ctx).await?;
        let (_, tasks) = bot(ctx).manager.tasks(here.channel, here.parent).await?;
        Ok(render::tasks(
            here.agent.name.as_str(),
            &tasks,
            clock::now(),
        ))
    })
    .await
}
