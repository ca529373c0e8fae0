//! `/roles`: the roles that the agent here can take, and the problems of unusable files.

use super::call::{Context, Refusal, Visibility, agent_here, answer, bot};
use crate::discord::bot::Bot;
use crate::discord::render;
use crate::discord::rest::body::Body;
use crate::manager::AgentSummary;

/// List this agent's roles with their sources and errors
#[poise::command(category = "Agents", slash_command, guild_only)]
pub(super) async fn roles(ctx: Context<'_>) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let here = agent_here(ctx).await?;
        roles_page(bot(ctx), &here.agent, 0).await
    })
    .await
}

/// Returns the list of an agent's roles at `page`, counted from 0.
pub(in crate::discord) async fn roles_page(
    bot: &Bot,
    agent: &AgentSummary,
    page: usize,
) -> Result<Body, Refusal> {
    let roles = bot.manager.directory.roles(agent).await?;
    Ok(render::role_list(agent, &roles, page))
}
