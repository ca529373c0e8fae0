//! The commands on a message under Apps: *Retry*, *Branch from here*, *Ask about this*, *Stop*.
//!
//! Each works on a message in the channel of an agent that the person may talk to. The actions are in [`chosen`].

use serenity::all::Message;

use super::call::{Context, Refusal, agent_here, bot, responder};
use crate::discord::bot::Bot;
use crate::discord::interactions::chosen::{self, Chosen};

/// Returns all commands on a message.
pub(super) fn all() -> Vec<poise::Command<Bot, Refusal>> {
    vec![retry(), branch(), ask(), stop()]
}

/// Ask the words of this message again
#[poise::command(
    category = "On a message (right click, Apps)",
    context_menu_command = "Retry",
    guild_only
)]
async fn retry(ctx: Context<'_>, message: Message) -> Result<(), Refusal> {
    let chosen = chosen(ctx, &message);
    chosen::retry(bot(ctx), &responder(ctx), chosen).await;
    Ok(())
}

/// Open a branch with the conversation as it stood at this message
#[poise::command(
    category = "On a message (right click, Apps)",
    context_menu_command = "Branch from here",
    guild_only
)]
async fn branch(ctx: Context<'_>, message: Message) -> Result<(), Refusal> {
    let chosen = chosen(ctx, &message);
    chosen::ask_for_branch(bot(ctx), &responder(ctx), message.id.get(), chosen).await;
    Ok(())
}

/// Ask the agent about this message
#[poise::command(
    category = "On a message (right click, Apps)",
    context_menu_command = "Ask about this",
    guild_only
)]
async fn ask(ctx: Context<'_>, message: Message) -> Result<(), Refusal> {
    let chosen = chosen(ctx, &message);
    chosen::ask_for_question(&responder(ctx), message.id.get(), chosen).await;
    Ok(())
}

/// Stop the turn that this message belongs to
#[poise::command(
    category = "On a message (right click, Apps)",
    context_menu_command = "Stop",
    guild_only
)]
async fn stop(ctx: Context<'_>, message: Message) -> Result<(), Refusal> {
    let chosen = chosen(ctx, &message);
    chosen::stop(bot(ctx), &responder(ctx), chosen).await;
    Ok(())
}

/// Returns the message, if the person may talk to the agent of its channel.
async fn chosen(ctx: Context<'_>, message: &Message) -> Result<Chosen, Refusal> {
    Ok(Chosen::new(agent_here(ctx).await?, message.id.get()))
}
