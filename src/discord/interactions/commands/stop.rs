//! `/stop` and `/abort`: the running turn gets one last step and answers, or ends at once.

use super::call::{Context, Refusal, Visibility, agent_here, answer, bot, person};
use super::complete;
use crate::agent::{Stop, Stopped, Target};
use crate::discord::render;
use crate::discord::rest::body::Body;

/// Stop the running turn after this step; the agent answers with what it has
#[poise::command(category = "Talk", slash_command, guild_only)]
pub(super) async fn stop(
    ctx: Context<'_>,
    #[description = "Only this sub-agent; the turn continues with its report"]
    #[autocomplete = "complete::child"]
    child: Option<String>,
) -> Result<(), Refusal> {
    let told = (render::stopping as fn(Stopped) -> Body, Visibility::Public);
    end_turns(ctx, child, Stop::Graceful, told).await
}

/// End the running turn at once, without an answer
#[poise::command(category = "Talk", slash_command, guild_only)]
pub(super) async fn abort(
    ctx: Context<'_>,
    #[description = "Only this sub-agent; the turn continues without its report"]
    #[autocomplete = "complete::child"]
    child: Option<String>,
) -> Result<(), Refusal> {
    // The turn's own notice is the one that everyone sees.
    let told = (
        render::aborted as fn(Stopped) -> Body,
        Visibility::Ephemeral,
    );
    end_turns(ctx, child, Stop::Abort, told).await
}

/// Ends the turns of the channel where the command was given, or one of their sub-agents.
async fn end_turns(
    ctx: Context<'_>,
    child: Option<String>,
    stop: Stop,
    (told, visibility): (fn(Stopped) -> Body, Visibility),
) -> Result<(), Refusal> {
    answer(ctx, visibility, async {
        let here = agent_here(ctx).await?;
        let by = person(ctx);
        bot(ctx).knows_thread(here.channel, here.parent).await;
        let target = match child.map(|child| child.trim().parse()) {
            None => Target::Channel(here.channel),
            Some(Ok(child)) => Target::Child(child),
            Some(Err(_)) => return Err(Refusal::new(render::NOTHING_RUNS)),
        };
        let stopped = bot(ctx)
            .manager
            .routing
            .stop(&here.agent, target, stop, &by);
        match stopped.await? {
            // Only relevant to this person.
            Stopped::Nothing => Err(Refusal::new(render::NOTHING_RUNS)),
            stopped => Ok(told(stopped)),
        }
    })
    .await
}
