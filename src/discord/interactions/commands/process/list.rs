//! `/process list`.

use super::super::call::{Context, answer, bot};
use super::super::sight::agent_here;
use crate::clock;
use crate::discord::bot::Refusal;
use crate::discord::interactions::Visibility;
use crate::discord::render;

/// Lists the processes of this agent
#[poise::command(slash_command)]
pub(super) async fn list(ctx: Context<'_>) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let here = agent_here(ctx).await?;
        let (_, tasks) = bot(ctx).manager.tasks(here.channel, here.parent).await?;
        Ok(render::processes(
            here.agent.name.as_str(),
            &tasks,
            clock::now(),
        ))
    })
    .await
}
