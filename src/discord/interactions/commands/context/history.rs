//! `/context history`: the saved sessions, newest first.

use super::super::call::{Context, answer, bot};
use super::super::complete;
use super::super::sight::{agent_here, named_on_record};
use crate::discord::bot::Bot;
use crate::discord::bot::Refusal;
use crate::discord::interactions::Visibility;
use crate::discord::render;
use crate::discord::rest::body::Body;
use crate::manager::AgentSummary;

/// Lists the saved sessions of an agent, newest first
#[poise::command(slash_command)]
pub(super) async fn history(
    ctx: Context<'_>,
    #[description = "Another agent of this server"]
    #[autocomplete = "complete::agent_on_record"]
    agent_name: Option<String>,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let agent = match &agent_name {
            Some(name) => named_on_record(ctx, name).await?,
            None => agent_here(ctx).await?.agent,
        };
        page(bot(ctx), &agent, 0).await
    })
    .await
}

/// One page of an agent's sessions, counted from 0.
pub(in crate::discord::interactions::commands) async fn page(
    bot: &Bot,
    agent: &AgentSummary,
    page: u32,
) -> Result<Body, Refusal> {
    let offset = page * render::SESSIONS_PER_PAGE;
    let history = bot
        .manager
        .context_history(agent, offset, render::SESSIONS_PER_PAGE)
        .await?;
    Ok(render::history(&history, page))
}
