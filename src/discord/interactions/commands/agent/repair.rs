//! `/agent repair`: repairs an agent with a missing channel or directory; it asks before it creates a new directory.

use serenity::all::ComponentInteraction;

use crate::discord::bot::Bot;
use crate::discord::bot::channels::GuildChannels;
use crate::discord::interactions::commands::call::{
    Context, Refusal, Responder, Visibility, answer, bot, guild, person, who_manages,
};
use crate::discord::interactions::commands::{complete, confirm};
use crate::discord::render;
use crate::discord::rest::body::Body;
use crate::domain::{GuildId, Person};
use crate::manager::{LostFolder, Repaired};

/// Recreate an agent's missing channel or folder
#[poise::command(slash_command, default_member_permissions = "MANAGE_CHANNELS")]
pub(super) async fn repair(
    ctx: Context<'_>,
    #[description = "The agent"]
    #[autocomplete = "complete::agent_name"]
    name: String,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        done(bot(ctx), guild(ctx)?, &name, LostFolder::Ask, &person(ctx)).await
    })
    .await
}

async fn done(
    bot: &Bot,
    guild: GuildId,
    name: &str,
    lost: LostFolder,
    by: &Person,
) -> Result<Body, Refusal> {
    let channels = GuildChannels::new(bot.clone());
    let repaired = bot
        .manager
        .lifecycle
        .repair(guild, name, lost, by, &channels)
        .await?;
    Ok(match repaired {
        Repaired::Done(text) => Body::sentence(text),
        Repaired::NeedsFolder(lost) => confirm::question(
            render::ask_new_folder(&lost),
            format!("repair:{}:{name}", confirm::until()),
        ),
    })
}

/// Handles Confirm. `rest` is the part of its id after `repair:`.
pub(in crate::discord) async fn confirmed(
    bot: &Bot,
    responder: &Responder,
    press: &ComponentInteraction,
    rest: &str,
) {
    let work = async {
        let (until, name) = rest.split_once(':').unwrap_or_default();
        if !confirm::is_open(until) {
            return Err(Refusal(confirm::expired("made", "/agent repair")));
        }
        let (guild, by) = who_manages(press.guild_id, press.member.as_ref(), "Repairing an agent")?;
        let decided = confirm::decided(bot, press)?;
        let repaired = done(bot, guild, name, LostFolder::MakeNew, &by).await?;
        decided.was_served();
        Ok(repaired)
    };
    // A failed answer was logged where it failed; there is no one else to notify.
    let _ = responder.replace(work).await;
}
