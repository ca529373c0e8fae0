//! `/decisions`: the decisions of this server's people, which are part of every agent's new conversation.

use super::call::{Context, Refusal, Visibility, answer, bot, guild, person};
use crate::discord::bot::Bot;
use crate::discord::render;
use crate::discord::rest::body::Body;
use crate::domain::GuildId;

/// List, add and withdraw decisions of this server
#[poise::command(
    category = "Agents",
    slash_command,
    guild_only,
    subcommand_required,
    subcommands("list", "add", "withdraw")
)]
#[expect(clippy::unused_async, reason = "poise awaits every command")]
pub(super) async fn decisions(_: Context<'_>) -> Result<(), Refusal> {
    Ok(())
}

/// List the decisions of this server
#[poise::command(slash_command)]
async fn list(ctx: Context<'_>) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        decisions_page(bot(ctx), guild(ctx)?, None).await
    })
    .await
}

/// Add a decision; agents read it in every new conversation
#[poise::command(slash_command, default_member_permissions = "MANAGE_CHANNELS")]
async fn add(
    ctx: Context<'_>,
    #[description = "The decision, in one sentence"]
    #[max_length = 500]
    text: String,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Public, async {
        let manager = &bot(ctx).manager;
        let added = manager
            .settings
            .add_decision(guild(ctx)?, &text, &person(ctx))
            .await?;
        Ok(render::decision_added(&added))
    })
    .await
}

/// Withdraw a decision; it stays listed, crossed out
#[poise::command(slash_command, default_member_permissions = "MANAGE_CHANNELS")]
async fn withdraw(
    ctx: Context<'_>,
    #[description = "Its number"]
    #[min = 1]
    number: u32,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Public, async {
        let manager = &bot(ctx).manager;
        let withdrawn = manager
            .settings
            .withdraw_decision(guild(ctx)?, number, &person(ctx))
            .await?;
        Ok(render::decision_withdrawn(&withdrawn))
    })
    .await
}

/// Returns the list of a server's decisions at `page`, counted from 0; `None` means the last one.
pub(in crate::discord) async fn decisions_page(
    bot: &Bot,
    guild: GuildId,
    page: Option<usize>,
) -> Result<Body, Refusal> {
    let decisions = bot.manager.settings.decisions(guild).await?;
    Ok(render::decisions(&decisions, page))
}
