//! `/schedule`: what this channel's agent has planned.

use super::call::{Context, Refusal, Visibility, agent_here, answer, bot};
use super::complete;
use crate::discord::render;
use crate::manager::ScheduleChange;

/// Show, pause, resume and delete what this channel's agent has planned
#[poise::command(
    category = "Tasks",
    slash_command,
    guild_only,
    subcommand_required,
    subcommands("list", "show", "pause", "resume", "delete")
)]
#[expect(clippy::unused_async, reason = "poise awaits every command")]
pub(super) async fn schedule(_: Context<'_>) -> Result<(), Refusal> {
    Ok(())
}

/// List what this channel's agent has planned
#[poise::command(slash_command)]
async fn list(ctx: Context<'_>) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let here = agent_here(ctx).await?;
        let views = bot(ctx).manager.schedules.of(&here.agent).await?;
        Ok(render::schedules(&views))
    })
    .await
}

/// Show one with its next times and its latest runs
#[poise::command(slash_command)]
async fn show(
    ctx: Context<'_>,
    #[description = "Its name"]
    #[autocomplete = "complete::schedule"]
    name: String,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let here = agent_here(ctx).await?;
        let view = bot(ctx).manager.schedules.shown(&here.agent, &name).await?;
        Ok(render::schedule(&view))
    })
    .await
}

/// Pause one: it has no times until it is resumed
#[poise::command(slash_command)]
async fn pause(
    ctx: Context<'_>,
    #[description = "Its name, or all of yours"]
    #[autocomplete = "complete::schedules_or_all"]
    name: String,
) -> Result<(), Refusal> {
    change(ctx, name, ScheduleChange::Pause).await
}

/// Resume one that is paused
#[poise::command(slash_command)]
async fn resume(
    ctx: Context<'_>,
    #[description = "Its name, or all of yours"]
    #[autocomplete = "complete::schedules_or_all"]
    name: String,
) -> Result<(), Refusal> {
    change(ctx, name, ScheduleChange::Resume).await
}

/// Delete one
#[poise::command(slash_command)]
async fn delete(
    ctx: Context<'_>,
    #[description = "Its name"]
    #[autocomplete = "complete::schedule"]
    name: String,
) -> Result<(), Refusal> {
    change(ctx, name, ScheduleChange::Delete).await
}

async fn change(ctx: Context<'_>, name: String, what: ScheduleChange) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let here = agent_here(ctx).await?;
        let schedules = &bot(ctx).manager.schedules;
        let names = schedules
            .change(&here.agent, &name, what, &here.person)
            .await?;
        Ok(render::schedules_changed(what, &names))
    })
    .await
}
