//! `/context import`: another agent's session file becomes a session of this one.

use super::super::call::{Context, answer, bot, person};
use super::super::complete;
use super::super::sight::agent_here;
use crate::discord::bot::Refusal;
use crate::discord::interactions::Visibility;
use crate::discord::render;

/// Takes over a session file of another agent that lies in this agent's folder
#[poise::command(slash_command, default_member_permissions = "MANAGE_GUILD")]
pub(super) async fn import(
    ctx: Context<'_>,
    #[description = "The file's name"]
    #[autocomplete = "complete::foreign_session"]
    session_id: String,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let here = agent_here(ctx).await?;
        let imported = bot(ctx)
            .manager
            .context_import(&here.agent, &session_id, &person(ctx))
            .await?;
        Ok(render::imported(&imported))
    })
    .await
}
