//! `/context`: saves, clears, lists, restores, imports and compacts the conversation.

use serenity::all::{ComponentInteraction, Permissions};
use tokio::sync::oneshot;

use super::call::{
    Context, Refusal, Responder, Visibility, agent_here, answer, bot, named_on_record, person,
    rights_of_press,
};
use super::{complete, confirm};
use crate::agent::sessions::SessionError;
use crate::agent::{AfterSave, BeforeClear, ContextAction, Stopper};
use crate::discord::bot::Bot;
use crate::discord::interactions::here::Here;
use crate::discord::render;
use crate::discord::rest::body::Body;
use crate::manager::AgentSummary;

/// Save, clear, list, restore and compact the conversation
#[poise::command(
    category = "Conversation",
    slash_command,
    guild_only,
    subcommand_required,
    subcommands("save", "clear", "history", "restore", "import", "compact")
)]
#[expect(clippy::unused_async, reason = "poise awaits every command")]
pub(super) async fn context(_: Context<'_>) -> Result<(), Refusal> {
    Ok(())
}

/// Save the conversation as a session and keep it open
#[poise::command(slash_command)]
async fn save(
    ctx: Context<'_>,
    #[description = "Label of the session (default: a summary)"]
    #[max_length = 100]
    description: Option<String>,
    #[description = "Clear the conversation afterwards"] clear: Option<bool>,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Public, async {
        let then = if clear.unwrap_or(false) {
            AfterSave::Clear
        } else {
            AfterSave::Keep
        };
        let saved = act(ctx, (&person(ctx)).into(), |reply| ContextAction::Save {
            description,
            then,
            reply,
        })
        .await?;
        Ok(render::saved(&saved, then))
    })
    .await
}

/// Save the conversation as a session, then clear it
#[poise::command(slash_command)]
async fn clear(
    ctx: Context<'_>,
    #[description = "False: delete it without saving, after a confirmation; needs Manage Messages"]
    save_first: Option<bool>,
) -> Result<(), Refusal> {
    if save_first == Some(false) {
        return answer(ctx, Visibility::Ephemeral, async {
            agent_here(ctx).await?;
            let member = ctx.interaction.member.as_ref();
            let rights = member.and_then(|member| member.permissions);
            may_discard(rights.unwrap_or_default())?;
            let id = format!("clear:{}", confirm::until());
            Ok(confirm::question(render::ask_clear(), id))
        })
        .await;
    }
    answer(ctx, Visibility::Public, async {
        let first = BeforeClear::Save;
        let cleared = act(ctx, (&person(ctx)).into(), |reply| ContextAction::Clear {
            first,
            reply,
        })
        .await?;
        Ok(render::cleared(&cleared))
    })
    .await
}

/// Handles Confirm. `until` is the part of its id after `clear:`.
pub(in crate::discord) async fn confirm_clear(
    bot: &Bot,
    responder: &Responder,
    press: &ComponentInteraction,
    until: &str,
) {
    if !confirm::is_open(until) {
        let late = Body::text(confirm::expired("discarded", "/context clear"));
        let _ = responder.update(&late).await;
        return;
    }
    let work = async {
        may_discard(rights_of_press(press))?;
        let here = Here::of_press(bot, press).await?;
        let decided = confirm::decided(bot, press)?;
        let clear = |reply| ContextAction::Clear {
            first: BeforeClear::Discard,
            reply,
        };
        let manager = &bot.manager;
        let cleared = manager
            .routing
            .context(&here.agent, here.channel, (&here.person).into(), clear)
            .await?;
        decided.was_served();
        Ok(render::cleared(&cleared))
    };
    // A failed answer was logged where it failed; there is no one else to notify.
    let _ = responder.answer(Visibility::Public, work).await;
}

/// Refuses people who may not permanently delete the words of others.
fn may_discard(rights: Permissions) -> Result<(), Refusal> {
    if rights.administrator() || rights.manage_messages() {
        return Ok(());
    }
    Err(Refusal::new(
        "Discarding a conversation without saving it needs the permission Manage Messages. `/context clear` saves it first.",
    ))
}

/// List the saved sessions of an agent, newest first
#[poise::command(slash_command)]
async fn history(
    ctx: Context<'_>,
    #[description = "Another agent of this server"]
    #[autocomplete = "complete::agent_on_record"]
    agent_name: Option<String>,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let agent = match &agent_name {
            Some(name) => named_on_record(ctx, name).await?,
            None => agent_here(ctx).await?.agent,
        };
        history_page(bot(ctx), &agent, 0).await
    })
    .await
}

/// Returns the list of an agent's sessions at `page`, counted from 0.
pub(in crate::discord) async fn history_page(
    bot: &Bot,
    agent: &AgentSummary,
    page: u32,
) -> Result<Body, Refusal> {
    let offset = page * render::SESSIONS_PER_PAGE;
    let history = bot
        .manager
        .directory
        .context_history(agent, offset, render::SESSIONS_PER_PAGE)
        .await?;
    Ok(render::history(&history, page))
}

/// Replace the conversation with a saved session
#[poise::command(slash_command)]
async fn restore(
    ctx: Context<'_>,
    #[description = "Id, its first characters, or the file's name"]
    #[autocomplete = "complete::session"]
    session_id: String,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Public, async {
        let restored = act(ctx, (&person(ctx)).into(), |reply| ContextAction::Restore {
            session: session_id,
            reply,
        })
        .await?;
        Ok(render::restored(&restored))
    })
    .await
}

/// Import another agent's session file from this agent's folder
#[poise::command(slash_command, default_member_permissions = "MANAGE_GUILD")]
async fn import(
    ctx: Context<'_>,
    #[description = "The file's name"]
    #[autocomplete = "complete::foreign_session"]
    session_id: String,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let here = agent_here(ctx).await?;
        let imported = bot(ctx)
            .manager
            .routing
            .context_import(&here.agent, &session_id, &person(ctx))
            .await?;
        Ok(render::imported(&imported))
    })
    .await
}

/// Summarize older messages to free up context
#[poise::command(slash_command)]
async fn compact(ctx: Context<'_>) -> Result<(), Refusal> {
    answer(ctx, Visibility::Public, async {
        // It ends no turn, so no person is named.
        let compacted = act(ctx, Stopper::Machine("a compaction"), |reply| {
            ContextAction::Compact { reply }
        })
        .await?;
        Ok(Body::sentence(compacted))
    })
    .await
}

/// Makes the agent here act on the context that belongs to the channel.
async fn act<T>(
    ctx: Context<'_>,
    by: Stopper,
    action: impl FnOnce(oneshot::Sender<Result<T, SessionError>>) -> ContextAction,
) -> Result<T, Refusal> {
    let here = agent_here(ctx).await?;
    let manager = &bot(ctx).manager;
    Ok(manager
        .routing
        .context(&here.agent, here.channel, by, action)
        .await?)
}
