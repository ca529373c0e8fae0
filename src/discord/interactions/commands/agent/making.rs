//! Creates an agent. If the model or the profile does not exist, it asks with a menu, and nothing that was typed is
//! lost.

use serenity::all::ComponentInteraction;

use crate::discord::bot::Bot;
use crate::discord::bot::channels::GuildChannels;
use crate::discord::interactions::commands::call::{Refusal, Responder, who_manages};
use crate::discord::interactions::commands::menus;
use crate::discord::render;
use crate::discord::rest::body::{Body, Button, Style};
use crate::domain::AgentName;
use crate::manager::NewAgent;
use crate::text::{self, escape};

/// Most characters of a name.
const LONGEST_NAME: usize = 32;

/// The action that requires the permission to manage channels, for the refusal.
pub(in crate::discord::interactions) const MAKING: &str = "Making an agent";

/// Creates an agent, or asks for the missing values. `id` is that of the interaction that requested it.
pub(in crate::discord::interactions) async fn make(
    bot: &Bot,
    id: u64,
    new: NewAgent,
) -> Result<Body, Refusal> {
    if AgentName::parse(&new.name).is_err()
        && let Some(proposed) = proposed(&new.name)
    {
        let words = format!(
            "{} cannot be a name: names have 2 to 32 of a-z, 0-9, - and _. Make it as `{proposed}`?",
            escape::code(&text::one_line(&new.name, 60))
        );
        let button = Button::new(
            format!("init:name:{id}"),
            format!("Make {proposed}"),
            Style::Primary,
        );
        bot.pending.keep(
            id,
            NewAgent {
                name: proposed,
                ..new
            },
        );
        return Ok(Body::sentence(words).row(vec![button]));
    }
    if let Some(model) = &new.model
        && let Err(error) = bot.manager.settings.known_model(model).await
    {
        let menu = menus::of_models(bot, format!("init:model:{id}"), model);
        return Ok(ask_for(bot, id, new, error.to_string(), menu));
    }
    if let Some(profile) = &new.permission_profile
        && is_unknown(bot, profile)
    {
        let words = format!("There is no profile {}.", escape::code(profile));
        let menu = menus::of_profiles(bot, format!("init:profile:{id}"));
        return Ok(ask_for(bot, id, new, words, menu));
    }
    let channels = GuildChannels::new(bot.clone());
    let guild = new.guild;
    let made = bot.manager.creator.init(new, &channels).await?;
    Ok(render::made(&made, guild))
}

/// Returns the name that Discord itself would give a channel with this name; `None` if nothing is left of it.
fn proposed(name: &str) -> Option<String> {
    let proposed = text::slug(name, LONGEST_NAME);
    AgentName::parse(&proposed).ok()?;
    Some(proposed)
}

/// Returns whether `profile` is a name, but not the name of a profile.
fn is_unknown(bot: &Bot, profile: &str) -> bool {
    let profiles = bot.profiles.load();
    let is_json = profile.trim_start().starts_with('{');
    !is_json && profiles.has(profile).is_err()
}

fn ask_for(
    bot: &Bot,
    id: u64,
    new: NewAgent,
    why: String,
    menu: crate::discord::rest::body::Menu,
) -> Body {
    if menu.options.is_empty() {
        return Body::sentence(why);
    }
    bot.pending.keep(id, new);
    Body::sentence(format!("{why}\nChoose another one here to make the agent.")).menu(Some(menu))
}

/// Handles a choice from such a menu. `rest` is the part of its id after `init:`.
pub(in crate::discord) async fn chosen(
    bot: &Bot,
    responder: &Responder,
    press: &ComponentInteraction,
    rest: &str,
) {
    let work = async {
        let (guild, by) = who_manages(press.guild_id, press.member.as_ref(), MAKING)?;
        let gone = || Refusal::new("This menu has expired. Run `/agent init` again.");
        let (what, id) = rest.split_once(':').ok_or_else(gone)?;
        let id = id.parse().map_err(|_| gone())?;
        let mut new = bot.pending.take(id).ok_or_else(gone)?;
        (new.guild, new.by) = (guild, by);
        match (what, menus::chosen(press)) {
            ("name", _) => {}
            ("model", Some(model)) => new.model = Some(model.to_owned()),
            (_, Some(profile)) => new.permission_profile = Some(profile.to_owned()),
            (_, None) => return Err(gone()),
        }
        make(bot, id, new).await
    };
    // A failed answer was logged where it failed; there is no one else to notify.
    let _ = responder.replace(work).await;
}
