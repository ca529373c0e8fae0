//! `/process kill`.

use super::super::call::{Context, answer, bot};
use super::super::complete;
use super::super::sight::agent_here;
use crate::discord::bot::Refusal;
use crate::discord::interactions::Visibility;
use crate::discord::rest::body::Body;

/// Ends a process of this agent, and all that it started
#[poise::command(slash_command)]
pub(super) async fn kill(
    ctx: Context<'_>,
    #[description = "The task, such as task_001"]
    #[autocomplete = "complete::task"]
    id: String,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let here = agent_here(ctx).await?;
        let killed = bot(ctx)
            .manager
            .task_kill(here.channel, here.parent, id.trim())
            .await?;
        Ok(Body::sentence(killed))
    })
    .await
}
