//! `/agent list`: the agents of this server that the person may know of.

use super::super::call::{Context, answer, bot};
use super::super::sight::{Sight, sight};
use crate::clock;
use crate::discord::bot::Bot;
use crate::discord::bot::Refusal;
use crate::discord::interactions::Visibility;
use crate::discord::render;
use crate::discord::rest::body::Body;

/// Lists the agents of this server, destroyed ones included
#[poise::command(slash_command)]
pub(super) async fn list(ctx: Context<'_>) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        match sight(ctx)? {
            Some(sight) => page(bot(ctx), &sight, 0).await,
            None => Ok(render::agents(&[], 0, clock::now())),
        }
    })
    .await
}

/// One page of the list, counted from 0, as somebody sees it.
pub(in crate::discord::interactions::commands) async fn page(
    bot: &Bot,
    sight: &Sight<'_>,
    page: usize,
) -> Result<Body, Refusal> {
    let mut agents = bot.manager.list(sight.guild).await?;
    agents.retain(|agent| sight.covers(agent.row.channel_id));
    if bot.knows(sight.guild) {
        for agent in &mut agents {
            let channel = agent.row.channel_id;
            agent.has_channel = channel.is_some_and(|channel| bot.has_place(sight.guild, channel));
        }
    }
    Ok(render::agents(&agents, page, clock::now()))
}
