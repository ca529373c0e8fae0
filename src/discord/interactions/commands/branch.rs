//! `/branch`: further conversations of the same agent, beside the main one.

use super::ask::{as_message, checked, show, tell};
use super::call::{Context, Refusal, Visibility, agent_here, answer, bot, person, responder};
use super::complete;
use crate::discord::render;
use crate::discord::rest::body::Body;
use crate::manager::BranchTarget;

/// Opens, lists and ends further conversations of this agent
#[poise::command(
    slash_command,
    guild_only,
    subcommand_required,
    subcommands("new", "list", "kill", "history")
)]
#[expect(clippy::unused_async, reason = "poise awaits every command")]
pub(super) async fn branch(_: Context<'_>) -> Result<(), Refusal> {
    Ok(())
}

/// Opens a conversation beside the main one, in the same workspace
#[poise::command(slash_command)]
async fn new(
    ctx: Context<'_>,
    #[description = "What it is to do"]
    #[max_length = 6000]
    prompt: String,
) -> Result<(), Refusal> {
    let responder = responder(ctx);
    let mut here = match checked(ctx, &prompt).await {
        Ok(here) => here,
        Err(refusal) => return tell(&responder, refusal).await,
    };
    // A branch hangs under the agent, wherever it was asked for.
    here.channel = here.agent.channel.unwrap_or(here.channel);
    here.parent = None;
    let by = person(ctx).name;
    let Some(shown) = show(&responder, &render::branch_asked(&by, &prompt)).await else {
        return Ok(());
    };
    let message = as_message(ctx, &here, prompt.clone(), shown);
    match bot(ctx).manager.branch_new(&here.agent, message).await {
        Ok(number) => {
            let _ = responder
                .edit_original(&render::branch_opened(number, &by, &prompt))
                .await;
        }
        Err(error) => {
            let _ = responder
                .follow_up(
                    &Body::sentence(Refusal::from(error).0),
                    Visibility::Ephemeral,
                )
                .await;
        }
    }
    Ok(())
}

/// Lists the branches of this agent
#[poise::command(slash_command)]
async fn list(ctx: Context<'_>) -> Result<(), Refusal> {
    answer(ctx, Visibility::Public, async {
        let here = agent_here(ctx).await?;
        let branches = bot(ctx).manager.branch_list(&here.agent).await?;
        Ok(render::branches(here.agent.name.as_str(), &branches))
    })
    .await
}

/// Ends a branch, or all of them
#[poise::command(slash_command)]
async fn kill(
    ctx: Context<'_>,
    #[description = "Number of the branch, or all"]
    #[autocomplete = "complete::branch"]
    id: String,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Public, async {
        let here = agent_here(ctx).await?;
        let which = target(&id)?;
        let killed = bot(ctx)
            .manager
            .branch_kill(&here.agent, which, &person(ctx))
            .await?;
        Ok(render::branches_killed(&killed))
    })
    .await
}

fn target(id: &str) -> Result<BranchTarget, Refusal> {
    let id = id.trim().trim_start_matches('#');
    if id.eq_ignore_ascii_case("all") {
        return Ok(BranchTarget::All);
    }
    id.parse().map(BranchTarget::One).map_err(|_| {
        Refusal(format!(
            "`{}` is no branch: write its number, as /branch list shows it, or all.",
            id.replace('`', "'")
        ))
    })
}

/// Shows the steps of a branch and how long they took
#[poise::command(slash_command)]
async fn history(
    ctx: Context<'_>,
    #[description = "Number of the branch"]
    #[autocomplete = "complete::branch_number"]
    #[min = 1]
    id: u32,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Public, async {
        let here = agent_here(ctx).await?;
        let history = bot(ctx).manager.branch_history(&here.agent, id).await?;
        Ok(render::branch_history(&history))
    })
    .await
}
