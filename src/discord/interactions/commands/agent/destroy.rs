//! `/agent destroy`: asks first, then deletes the agent's channel and folder.

use serenity::all::ComponentInteraction;

use crate::discord::bot::Bot;
use crate::discord::bot::channels::GuildChannels;
use crate::discord::interactions::commands::call::{
    Context, Refusal, Responder, Visibility, agent_named, answer, bot, who_manages,
};
use crate::discord::interactions::commands::{complete, confirm};
use crate::discord::people::operator::direct_message;
use crate::discord::render;
use crate::discord::rest::body::Body;
use crate::domain::{ChannelId, UserId};
use crate::manager::KeepFiles;

/// Delete an agent: its channel, and its files unless they are kept
#[poise::command(slash_command, default_member_permissions = "MANAGE_CHANNELS")]
pub(super) async fn destroy(
    ctx: Context<'_>,
    #[description = "The agent"]
    #[autocomplete = "complete::agent_name"]
    name: String,
    #[description = "Keep its folder"] keep_files: Option<bool>,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let agent = agent_named(ctx, &name)?;
        let keep = keep_files.unwrap_or(false);
        let until = confirm::until();
        let bound = bot(ctx).manager.directory.bound_folder(&agent).await;
        let files = if keep { "keep" } else { "delete" };
        let deleted = if keep {
            None
        } else {
            Some(bot(ctx).manager.directory.file_count(&agent).await)
        };
        let question = render::ask_destroy(agent.name.as_str(), deleted, bound.as_deref());
        let id = format!("destroy:{files}:{until}:{}", agent.name);
        Ok(confirm::question(question, id))
    })
    .await
}

/// Handles Confirm. `rest` is the part of its id after `destroy:`.
pub(in crate::discord) async fn confirmed(
    bot: &Bot,
    responder: &Responder,
    press: &ComponentInteraction,
    rest: &str,
) {
    let Some((keep, name)) = confirmed_choice(rest) else {
        let late = Body::text(confirm::expired("destroyed", "/agent destroy"));
        let _ = responder.update(&late).await;
        return;
    };
    let allowed = who_manages(press.guild_id, press.member.as_ref(), "Destroying an agent");
    let decided = allowed.and_then(|allowed| Ok((allowed, confirm::decided(bot, press)?)));
    let (guild, by) = match decided {
        Ok((allowed, decided)) => {
            decided.was_served();
            allowed
        }
        Err(refusal) => {
            let _ = responder.refuse(refusal).await;
            return;
        }
    };
    if responder
        .update(&Body::text(format!("Destroying {name} …")))
        .await
        .is_err()
    {
        return;
    }
    let here = ChannelId(press.channel_id.get());
    let own_channel = bot
        .manager
        .directory
        .agents(guild)
        .into_iter()
        .any(|agent| agent.name.as_str() == name && agent.channel == Some(here));
    let outcome = bot
        .manager
        .lifecycle
        .destroy(guild, name, keep, &by, &GuildChannels::new(bot.clone()))
        .await;
    let body = match outcome {
        Ok(destroyed) => render::destroyed(&destroyed),
        Err(error) => Body::sentence(Refusal::from(error).0),
    };
    // The answer was deleted with the channel, if that was the agent's own.
    if own_channel || responder.edit_original(&body).await.is_err() {
        let user = UserId(press.user.id.get());
        if direct_message(&bot.rest, user, &body).await.is_err() {
            tracing::info!(user.id = %user, "{}", body.content);
        }
    }
}

/// Returns the choice from the id of a button that can still be pressed.
fn confirmed_choice(rest: &str) -> Option<(KeepFiles, &str)> {
    let mut parts = rest.splitn(3, ':');
    let keep = match parts.next()? {
        "keep" => KeepFiles::Yes,
        "delete" => KeepFiles::No,
        _ => return None,
    };
    let until = parts.next()?;
    let name = parts.next()?;
    confirm::is_open(until).then_some((keep, name))
}
