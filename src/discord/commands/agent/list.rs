//! `/agent list`: every agent of this server.

use super::super::{Context, Refusal, answer, bot, guild};
use crate::clock;
use crate::discord::body::Body;
use crate::discord::bot::Bot;
use crate::discord::interaction::Eyes;
use crate::discord::render;
use crate::domain::GuildId;

/// Lists the agents of this server, destroyed ones included
#[poise::command(slash_command)]
pub(super) async fn list(ctx: Context<'_>) -> Result<(), Refusal> {
    answer(ctx, Eyes::One, async {
        page(bot(ctx), guild(ctx)?, 0).await
    })
    .await
}

/// One page of the list, counted from 0.
pub(in crate::discord::commands) async fn page(
    bot: &Bot,
    guild: GuildId,
    page: usize,
) -> Result<Body, Refusal> {
    let agents = bot.manager.list(guild).await?;
    Ok(render::agents(&agents, page, clock::now()))
}
