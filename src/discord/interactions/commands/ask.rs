//! `/ask`: a prompt as a turn, once with another model, mode or role.

use std::time::Duration;

use super::call::{Context, Refusal, agent_here, bot, responder};
use super::choice::{Choice, Named};
use super::complete;
use crate::agent::Overrides;
use crate::discord::bot::Bot;
use crate::discord::interactions::here::Here;
use crate::discord::render;
use crate::domain::Mode;
use crate::manager::AgentSummary;

/// Longest time for looking up a model.
const MODEL_TIMEOUT: Duration = Duration::from_millis(1_500);

impl Named for Mode {
    const ALL: &'static [(&'static str, Self)] = &[
        ("direct", Self::Direct),
        ("lightweight", Self::Lightweight),
        ("standard", Self::Standard),
        ("full", Self::Full),
    ];
}

/// Ask this channel's agent, optionally with another model, mode or role
#[poise::command(category = "Talk", slash_command, guild_only)]
pub(super) async fn ask(
    ctx: Context<'_>,
    #[description = "What to ask"]
    #[max_length = 6000]
    prompt: String,
    #[description = "Model for this question"]
    #[autocomplete = "complete::model"]
    model: Option<String>,
    #[description = "direct: no tools; lightweight: only reads; standard: the default; full: long tasks"]
    mode: Option<Choice<Mode>>,
    #[description = "Role of a sub-agent that answers instead of the agent; it sees only your prompt"]
    #[autocomplete = "complete::role"]
    role: Option<String>,
) -> Result<(), Refusal> {
    let overrides = Overrides {
        model,
        mode: mode.map(|Choice(mode)| mode),
        role,
    };
    ask_with(ctx, prompt, overrides).await
}

/// Shows the prompt in the channel and starts a turn that answers it there.
pub(super) async fn ask_with(
    ctx: Context<'_>,
    prompt: String,
    overrides: Overrides,
) -> Result<(), Refusal> {
    let responder = responder(ctx);
    let work = async {
        let here = checked(ctx, &prompt).await?;
        if let Some(refusal) = lacks_model(bot(ctx), overrides.model.as_deref()).await {
            return Err(refusal);
        }
        has_role(bot(ctx), &here.agent, overrides.role.as_deref()).await?;
        let whom = overrides.role.as_ref().or(overrides.model.as_ref());
        let body = render::asked(&here.person.name, &prompt, whom.map(String::as_str));
        Ok((body, here))
    };
    let Some((shown, here)) = responder.show(work).await else {
        return Ok(());
    };
    let agent = here.agent.clone();
    let message = here.says(shown, prompt);
    let asked = bot(ctx)
        .manager
        .routing
        .ask(&agent, message, overrides)
        .await;
    if let Err(error) = asked {
        let _ = responder.refuse_later(error.into()).await;
    }
    Ok(())
}

/// Returns why a model cannot be asked, for the person who named it. If looking it up takes too long, the turn reports
/// that instead, without a wait.
async fn lacks_model(bot: &Bot, model: Option<&str>) -> Option<Refusal> {
    let known = bot.manager.settings.known_model(model?);
    let known = tokio::time::timeout(MODEL_TIMEOUT, known).await.ok()?;
    known.err().map(Refusal::from)
}

/// Checks that people may call the role, before anything is shown.
pub(super) async fn has_role(
    bot: &Bot,
    agent: &AgentSummary,
    role: Option<&str>,
) -> Result<(), Refusal> {
    let Some(role) = role else {
        return Ok(());
    };
    Ok(bot.manager.directory.role_for_people(agent, role).await?)
}

/// Returns the agent here, if the prompt is not empty.
pub(super) async fn checked(ctx: Context<'_>, prompt: &str) -> Result<Here, Refusal> {
    if prompt.trim().is_empty() {
        return Err(Refusal::new("The prompt is empty, so nothing was started."));
    }
    agent_here(ctx).await
}
