//! `/agent destroy`: asks first, then takes the agent's channel and folder away.

use serenity::all::ComponentInteraction;

use super::super::call::{Context, answer};
use super::super::sight::agent_named;
use super::super::{complete, confirm, rights};
use crate::discord::bot::Bot;
use crate::discord::bot::Refusal;
use crate::discord::bot::channels::GuildChannels;
use crate::discord::interactions::{Responder, Visibility};
use crate::discord::people;
use crate::discord::people::operator::direct_message;
use crate::discord::render;
use crate::discord::rest::body::Body;
use crate::domain::{ChannelId, GuildId, UserId};
use crate::manager::KeepFiles;

/// Destroys an agent: its channel, and its files unless they are kept
#[poise::command(slash_command, default_member_permissions = "MANAGE_CHANNELS")]
pub(super) async fn destroy(
    ctx: Context<'_>,
    #[description = "The agent"]
    #[autocomplete = "complete::agent_name"]
    name: String,
    #[description = "Leave its directory in place"] keep_files: Option<bool>,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let agent = agent_named(ctx, &name)?;
        let keep = keep_files.unwrap_or(false);
        let until = confirm::until();
        let files = if keep { "keep" } else { "delete" };
        let question = render::ask_destroy(agent.name.as_str(), keep);
        let id = format!("destroy:{files}:{until}:{}", agent.name);
        Ok(confirm::question(question, id))
    })
    .await
}

/// The press of Confirm. `rest` is what follows `destroy:` in its id.
pub(in crate::discord) async fn confirmed(
    bot: &Bot,
    responder: &Responder,
    press: &ComponentInteraction,
    rest: &str,
) {
    let Some((keep, name)) = still_stands(rest) else {
        let late = Body::text(
            "Nothing was destroyed: the question stood for 30 s. Run /agent destroy again.",
        );
        let _ = responder.update(&late).await;
        return;
    };
    let rights = rights::of_press(press);
    let member = press.guild_id.zip(press.member.as_ref());
    let Some((guild, member)) =
        member.filter(|_| rights.administrator() || rights.manage_channels())
    else {
        let _ = responder
            .say(
                &Body::text("Destroying an agent needs the permission Manage Channels."),
                Visibility::Ephemeral,
            )
            .await;
        return;
    };
    let guild = GuildId(guild.get());
    let by = people::person_with(member, rights);
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
        .agents(guild)
        .into_iter()
        .any(|agent| agent.name.as_str() == name && agent.channel == Some(here));
    let outcome = bot
        .manager
        .destroy(guild, name, keep, &by, &GuildChannels::new(bot.clone()))
        .await;
    let body = match outcome {
        Ok(destroyed) => render::destroyed(&destroyed),
        Err(error) => Body::sentence(Refusal::from(error).0),
    };
    // The answer went with the channel, if it was the agent's own.
    if own_channel || responder.keep_promise(&body).await.is_err() {
        let user = UserId(press.user.id.get());
        if direct_message(&bot.rest, user, &body).await.is_err() {
            tracing::info!(user.id = %user, "{}", body.content);
        }
    }
}

fn still_stands(rest: &str) -> Option<(KeepFiles, &str)> {
    let mut parts = rest.splitn(3, ':');
    let keep = match parts.next()? {
        "keep" => KeepFiles::Yes,
        "delete" => KeepFiles::No,
        _ => return None,
    };
    let until = parts.next()?;
    let name = parts.next()?;
    confirm::still_stands(until).then_some((keep, name))
}
