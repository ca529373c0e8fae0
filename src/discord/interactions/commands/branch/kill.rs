//! `/branch kill`: one branch, or all.

use super::super::call::{Context, answer, bot, person};
use super::super::complete;
use super::super::sight::agent_here;
use crate::discord::bot::Refusal;
use crate::discord::interactions::Visibility;
use crate::discord::render;
use crate::manager::BranchTarget;

/// Ends a branch, or all of them
#[poise::command(slash_command)]
pub(super) async fn kill(
    ctx: Context<'_>,
    #[description = "Number of the branch, or all"]
    #[autocomplete = "complete::branch"]
    id: String,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Public, async {
        let here = agent_here(ctx).await?;
        let which = target(&id)?;
        let killed = bot(ctx)
            .manager
            .branch_kill(here.channel, here.parent, which, &person(ctx))
            .await?;
        Ok(render::branches_killed(&killed))
    })
    .await
}

fn target(id: &str) -> Result<BranchTarget, Refusal> {
    let id = id.trim().trim_start_matches('#');
    if id.eq_ignore_ascii_case("all") {
        return Ok(BranchTarget::All);
    }
    id.parse().map(BranchTarget::One).map_err(|_| {
        Refusal(format!(
            "`{}` is no branch: write its number, as /branch list shows it, or all.",
            id.replace('`', "'")
        ))
    })
}
