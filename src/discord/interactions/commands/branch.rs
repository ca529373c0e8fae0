//! `/branch`: further conversations of the same agent, besides the main one.

use super::ask::{checked, has_role};
use super::call::{
    Context, Refusal, Responder, Visibility, agent_here, answer, bot, person, responder,
};
use super::complete;
use crate::agent::NewBranch;
use crate::discord::bot::Bot;
use crate::discord::interactions::here::Here;
use crate::discord::render;
use crate::manager::BranchTarget;

/// Open, list and end side conversations with this agent
#[poise::command(
    category = "Conversation",
    slash_command,
    guild_only,
    subcommand_required,
    subcommands("new", "list", "kill", "history")
)]
#[expect(clippy::unused_async, reason = "poise awaits every command")]
pub(super) async fn branch(_: Context<'_>) -> Result<(), Refusal> {
    Ok(())
}

/// Open a side conversation in the same workspace
#[poise::command(slash_command)]
async fn new(
    ctx: Context<'_>,
    #[description = "Its task"]
    #[max_length = 6000]
    prompt: String,
    #[description = "Role that the branch works as; /roles lists them"]
    #[autocomplete = "complete::role"]
    role: Option<String>,
) -> Result<(), Refusal> {
    let responder = responder(ctx);
    let asked = async {
        let here = checked(ctx, &prompt).await?;
        has_role(bot(ctx), &here.agent, role.as_deref()).await?;
        let branch = NewBranch {
            role,
            ..NewBranch::default()
        };
        Ok((here, prompt, branch))
    };
    open(bot(ctx), &responder, asked).await;
    Ok(())
}

/// Shows the prompt from `asked` in the agent's channel, and opens the branch that answers it.
pub(in crate::discord::interactions) async fn open(
    bot: &Bot,
    responder: &Responder,
    asked: impl Future<Output = Result<(Here, String, NewBranch), Refusal>>,
) {
    let work = async {
        let (here, prompt, branch) = asked.await?;
        // A branch is a thread of the agent's channel, even if it was requested in another thread.
        let here = here.at_the_agent();
        let by = &here.person.name;
        let body = render::branch_asked(by, &prompt, branch.role.as_deref());
        Ok((body, (here, prompt, branch)))
    };
    let Some((shown, (here, prompt, branch))) = responder.show(work).await else {
        return;
    };
    let (agent, by) = (here.agent.clone(), here.person.name.clone());
    let role = branch.role.clone();
    let message = here.says(shown, prompt.clone());
    // A failed answer was logged where it failed; there is no one else to notify.
    let _ = match bot
        .manager
        .routing
        .branch_from(&agent, message, branch)
        .await
    {
        Ok(number) => {
            let opened = render::branch_opened(number, &by, &prompt, role.as_deref());
            responder.edit_original(&opened).await
        }
        Err(error) => responder.refuse_later(error.into()).await,
    };
}

/// List the branches of this agent
#[poise::command(slash_command)]
async fn list(ctx: Context<'_>) -> Result<(), Refusal> {
    answer(ctx, Visibility::Public, async {
        let here = agent_here(ctx).await?;
        let branches = bot(ctx).manager.routing.branch_list(&here.agent).await?;
        Ok(render::branches(here.agent.name.as_str(), &branches))
    })
    .await
}

/// End a branch, or all of them
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
            .routing
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
            "`{}` is not a branch. Write its number, as `/branch list` shows it, or `all`.",
            id.replace('`', "'")
        ))
    })
}

/// Show the steps of a branch and how long they took
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
        let history = bot(ctx)
            .manager
            .routing
            .branch_history(&here.agent, id)
            .await?;
        Ok(render::branch_history(&history))
    })
    .await
}
