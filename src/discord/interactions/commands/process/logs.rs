//! `/process logs`: the end of what a process printed.

use super::super::call::{Context, answer, bot};
use super::super::complete;
use super::super::sight::agent_here;
use crate::discord::bot::Refusal;
use crate::discord::interactions::Visibility;
use crate::discord::render;

/// Shows the last lines that a process printed
#[poise::command(slash_command)]
pub(super) async fn logs(
    ctx: Context<'_>,
    #[description = "The task, such as task_001"]
    #[autocomplete = "complete::task"]
    id: String,
    #[description = "How many lines; 20 if left out"]
    #[min = 1]
    #[max = 1000]
    lines: Option<u32>,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let here = agent_here(ctx).await?;
        let lines = lines.unwrap_or(20) as usize;
        let log = bot(ctx)
            .manager
            .task_logs(here.channel, here.parent, id.trim(), lines)
            .await?;
        Ok(render::log(id.trim(), &log.join("\n")))
    })
    .await
}
