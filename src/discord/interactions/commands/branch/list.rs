//! `/branch list`.

use super::super::call::{Context, answer, bot};
use super::super::sight::agent_here;
use crate::discord::bot::Refusal;
use crate::discord::interactions::Visibility;
use crate::discord::render;

/// Lists the branches of this agent
#[poise::command(slash_command)]
pub(super) async fn list(ctx: Context<'_>) -> Result<(), Refusal> {
    answer(ctx, Visibility::Public, async {
        let here = agent_here(ctx).await?;
        let branches = bot(ctx)
            .manager
            .branch_list(here.channel, here.parent)
            .await?;
        Ok(render::branches(here.agent.name.as_str(), &branches))
    })
    .await
}
