//! `/process` and `/tasks`: long-running commands of the agent.

use super::call::{Context, Refusal, Visibility, agent_here, answer, bot, person};
use super::complete;
use crate::discord::render;
use crate::discord::rest::body::Body;

/// List, stop and read the long-running commands of this agent
#[poise::command(
    category = "Tasks",
    slash_command,
    guild_only,
    subcommand_required,
    subcommands("list", "kill", "logs")
)]
#[expect(clippy::unused_async, reason = "poise awaits every command")]
pub(super) async fn process(_: Context<'_>) -> Result<(), Refusal> {
    Ok(())
}

/// List the processes of this agent
#[poise::command(slash_command)]
async fn list(ctx: Context<'_>) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let here = agent_here(ctx).await?;
        let tasks = bot(ctx).manager.tasks.list(&here.agent).await?;
        Ok(render::tasks(here.agent.name.as_str(), &tasks))
    })
    .await
}

/// Stop a process of this agent and its children
#[poise::command(slash_command)]
async fn kill(
    ctx: Context<'_>,
    #[description = "The task, such as task_001"]
    #[autocomplete = "complete::task"]
    id: String,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let here = agent_here(ctx).await?;
        let killed = bot(ctx).manager.tasks.stop(&here.agent, id.trim()).await?;
        Ok(Body::sentence(killed))
    })
    .await
}

/// Show the last lines that a process printed
#[poise::command(slash_command)]
async fn logs(
    ctx: Context<'_>,
    #[description = "The task, such as task_001"]
    #[autocomplete = "complete::task"]
    id: String,
    #[description = "How many lines (default: 20)"]
    #[min = 1]
    #[max = 1000]
    lines: Option<u32>,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let here = agent_here(ctx).await?;
        let lines = lines.unwrap_or(20) as usize;
        let log = bot(ctx)
            .manager
            .tasks
            .logs(&here.agent, id.trim(), lines, &person(ctx))
            .await?;
        Ok(render::log(id.trim(), &log.join("\n")))
    })
    .await
}

/// List the running and recently completed tasks of the agent in this channel
#[poise::command(category = "Tasks", slash_command, guild_only)]
pub(super) async fn tasks(ctx: Context<'_>) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let here = agent_here(ctx).await?;
        let tasks = bot(ctx).manager.tasks.list(&here.agent).await?;
        Ok(render::tasks(here.agent.name.as_str(), &tasks))
    })
    .await
}
