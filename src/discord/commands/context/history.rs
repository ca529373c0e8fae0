//! `/context history`: the saved sessions, newest first.

use super::super::call::{Context, answer, bot, guild};
use super::super::complete;
use super::super::sight::{agent_here, agent_named};
use crate::discord::body::Body;
use crate::discord::bot::Bot;
use crate::discord::interaction::Eyes;
use crate::discord::refusal::Refusal;
use crate::discord::render;
use crate::domain::{ChannelId, GuildId};

/// Lists the saved sessions of an agent, newest first
#[poise::command(slash_command)]
pub(super) async fn history(
    ctx: Context<'_>,
    #[description = "Another agent of this server"]
    #[autocomplete = "complete::agent_name"]
    agent_name: Option<String>,
) -> Result<(), Refusal> {
    answer(ctx, Eyes::One, async {
        let name = match &agent_name {
            Some(name) => agent_named(ctx, name)?.name,
            None => agent_here(ctx)?.agent.name,
        };
        page(bot(ctx), guild(ctx)?, name.as_str(), 0).await
    })
    .await
}

/// One page of an agent's sessions, counted from 0.
pub(in crate::discord::commands) async fn page(
    bot: &Bot,
    guild: GuildId,
    agent: &str,
    page: u32,
) -> Result<Body, Refusal> {
    let offset = page * render::SESSIONS_PER_PAGE;
    let history = bot
        .manager
        .context_history(
            guild,
            ChannelId(0),
            None,
            Some(agent),
            offset,
            render::SESSIONS_PER_PAGE,
        )
        .await?;
    Ok(render::history(&history, page))
}
