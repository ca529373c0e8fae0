//! `/branch history`: the steps of one branch.

use super::super::call::{Context, answer, bot};
use super::super::complete;
use super::super::sight::agent_here;
use crate::discord::bot::Refusal;
use crate::discord::interactions::Visibility;
use crate::discord::render;

/// Shows the steps of a branch and how long they took
#[poise::command(slash_command)]
pub(super) async fn history(
    ctx: Context<'_>,
    #[description = "Number of the branch"]
    #[autocomplete = "complete::branch_number"]
    #[min = 1]
    id: u32,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Public, async {
        let here = agent_here(ctx).await?;
        let history = bot(ctx)
            .manager
            .branch_history(here.channel, here.parent, id)
            .await?;
        Ok(render::branch_history(&history))
    })
    .await
}
