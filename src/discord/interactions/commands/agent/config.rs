//! `/agent config`: shows or changes one value of an agent.

use serenity::all::{Attachment, ComponentInteraction, ModalInteraction};

use super::text_or_file;
use crate::config::{agent_keys, effective};
use crate::discord::bot::Bot;
use crate::discord::bot::channels::GuildChannels;
use crate::discord::interactions::commands::call::{
    Context, HEARD_WITHIN, Refusal, Responder, Visibility, admits, agent_named, answer, bot, guild,
    manages, may_talk, person, who_manages,
};
use crate::discord::interactions::commands::{complete, confirm, menus};
use crate::discord::render::{self, always_allow};
use crate::discord::rest::body::Body;
use crate::discord::rest::modal::{MAX_FIELD, Modal, TextInput, written};
use crate::domain::{GuildId, Person};

/// The beginning of the ids of the Edit button and its form; the agent's name follows.
pub(in crate::discord) const EDIT_PROMPT: &str = "prompt:";

/// The action that requires the permission to manage channels, for the refusal.
const CHANGING: &str = "Changing an agent";

/// The form's field.
const PROMPT: &str = "system_prompt";

/// Show or change one value of an agent
#[poise::command(slash_command, default_member_permissions = "MANAGE_CHANNELS")]
pub(super) async fn config(
    ctx: Context<'_>,
    #[description = "The agent"]
    #[autocomplete = "complete::agent_name"]
    name: String,
    #[description = "What to show or change"]
    #[autocomplete = "complete::config_key"]
    key: String,
    #[description = "The new value; without one, the current value is shown"]
    #[autocomplete = "complete::config_value"]
    #[max_length = 6000]
    value: Option<String>,
    #[description = "A text file with the new value, up to 64 KiB"] file: Option<Attachment>,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let agent = agent_named(ctx, &name)?;
        may_talk(ctx, &agent).await?;
        let (bot, guild) = (bot(ctx), guild(ctx)?);
        let name = agent.name.as_str();
        match text_or_file(value, file, "value").await? {
            None if key == "always_allow" => {
                let entries = bot.manager.configurator.always_allowed(guild, name).await?;
                Ok(always_allow::list(name, &entries))
            }
            None => {
                let value = bot
                    .manager
                    .configurator
                    .config_value(guild, name, &key)
                    .await?;
                Ok(shown(bot, name, &key, &value))
            }
            Some(value) => {
                if key == effective::WORKSPACE.name {
                    manages(ctx, super::BINDING)?;
                }
                let by = person(ctx);
                if let Some(question) = widening(bot, guild, name, &key, &value, &by).await {
                    return Ok(question);
                }
                let channels = GuildChannels::new(bot.clone());
                let done = bot
                    .manager
                    .configurator
                    .configure(guild, name, &key, &value, &by, &channels);
                Ok(Body::sentence(done.await?))
            }
        }
    })
    .await
}

/// Returns the value of a key, with a menu of its possible values if that is a set of words.
fn shown(bot: &Bot, name: &str, key: &str, value: &str) -> Body {
    let known = agent_keys().find(|known| known.name == key);
    let menu = known.and_then(|known| menus::of_key(bot, format!("config:{key}:{name}"), known));
    render::config_value(name, key, value).menu(menu)
}

/// Handles a choice from that menu. `rest` is the part of its id after `config:`.
pub(in crate::discord) async fn chosen(
    bot: &Bot,
    responder: &Responder,
    press: &ComponentInteraction,
    rest: &str,
) {
    let work = async {
        let (guild, by) = who_manages(press.guild_id, press.member.as_ref(), CHANGING)?;
        let gone = || Refusal::new("This menu has expired. Run `/agent config` again.");
        let (key, name, value) = menus::choice(press, rest).ok_or_else(gone)?;
        may_edit(bot, guild, &by, name).await?;
        if let Some(question) = widening(bot, guild, name, key, value, &by).await {
            return Ok(question);
        }
        let channels = GuildChannels::new(bot.clone());
        let done = bot
            .manager
            .configurator
            .configure(guild, name, key, value, &by, &channels);
        Ok(Body::sentence(done.await?))
    };
    let _ = responder.replace(work).await;
}

/// Returns the question whether to set a value that widens the rights of an agent, or of people; `None` if it widens
/// nothing.
async fn widening(
    bot: &Bot,
    guild: GuildId,
    name: &str,
    key: &str,
    value: &str,
    by: &Person,
) -> Option<Body> {
    let configurator = &bot.manager.configurator;
    let risk = configurator.risk(guild, name, key, value, by).await?;
    let id = format!("widen:{}:{key}:{name}:{}", confirm::until(), value.trim());
    Some(confirm::question(Body::sentence(risk), id))
}

/// Handles Confirm under that question. `rest` is the part of its id after `widen:`.
pub(in crate::discord) async fn widened(
    bot: &Bot,
    responder: &Responder,
    press: &ComponentInteraction,
    rest: &str,
) {
    let work = async {
        let (guild, by) = who_manages(press.guild_id, press.member.as_ref(), CHANGING)?;
        let mut parts = rest.splitn(4, ':');
        let mut part = || parts.next().unwrap_or_default();
        let (until, key, name, value) = (part(), part(), part(), part());
        if !confirm::is_open(until) {
            return Ok(Body::text(confirm::expired("changed", "/agent config")));
        }
        may_edit(bot, guild, &by, name).await?;
        let decided = confirm::decided(bot, press)?;
        let channels = GuildChannels::new(bot.clone());
        let done = bot
            .manager
            .configurator
            .configure(guild, name, key, value, &by, &channels);
        let done = done.await?;
        decided.was_served();
        Ok(Body::sentence(done))
    };
    let _ = responder.replace(work).await;
}

/// Handles Take back under the list of `always_allow`. `rest` is the part of its id after `ungrant:`.
pub(in crate::discord) async fn take_back(
    bot: &Bot,
    responder: &Responder,
    press: &ComponentInteraction,
    rest: &str,
) {
    let work = async {
        let (guild, by) = who_manages(press.guild_id, press.member.as_ref(), CHANGING)?;
        let (digest, name) = rest.split_once(':').unwrap_or_default();
        may_edit(bot, guild, &by, name).await?;
        let is_it = |entry: &str| always_allow::digest(entry) == digest;
        let left = bot
            .manager
            .configurator
            .take_back(guild, name, &by, is_it)
            .await?;
        Ok(always_allow::list(name, &left))
    };
    let _ = responder.replace(work).await;
}

/// Handles Edit: opens the form with the prompt.
pub(in crate::discord) async fn edit_prompt(
    bot: &Bot,
    responder: &Responder,
    press: &ComponentInteraction,
    name: &str,
) {
    let form = async {
        let (guild, by) = who_manages(press.guild_id, press.member.as_ref(), CHANGING)?;
        prompt_form(bot, guild, &by, name).await
    };
    // A form must be the first answer, and it cannot be opened without its content.
    let form = tokio::time::timeout(HEARD_WITHIN, form).await;
    let form = form.unwrap_or_else(|_| {
        let slow = "The prompt could not be read in time. Press Edit again.";
        Err(Refusal::new(slow))
    });
    // A failed answer was logged where it failed; there is no one else to notify.
    let _ = match form {
        Ok(form) => responder.open(&form).await,
        Err(refusal) => responder.refuse(refusal).await,
    };
}

async fn prompt_form(bot: &Bot, guild: GuildId, by: &Person, name: &str) -> Result<Modal, Refusal> {
    may_edit(bot, guild, by, name).await?;
    let prompt = bot
        .manager
        .configurator
        .config_value(guild, name, "system_prompt")
        .await?;
    if prompt.chars().count() > MAX_FIELD {
        return Err(Refusal(format!(
            "The prompt has more than {MAX_FIELD} characters, the limit of a form. Set it with the option `file` of `/agent config`."
        )));
    }
    let field = TextInput::paragraph(PROMPT, "System prompt").value(prompt);
    let title = format!("System prompt of {name}");
    Ok(Modal::new(format!("{EDIT_PROMPT}{name}"), title).field(field))
}

/// Refuses people who may not talk to the agent of this name; a missing agent is reported elsewhere.
async fn may_edit(bot: &Bot, guild: GuildId, by: &Person, name: &str) -> Result<(), Refusal> {
    let agents = bot.manager.directory.agents(guild);
    let found = agents.iter().find(|agent| agent.name.as_str() == name);
    match found {
        Some(agent) => admits(bot, by, agent).await,
        None => Ok(()),
    }
}

/// Applies the text from the form.
pub(in crate::discord) async fn submit(
    bot: &Bot,
    responder: &Responder,
    modal: &ModalInteraction,
    name: &str,
) {
    let work = async {
        let (guild, by) = who_manages(modal.guild_id, modal.member.as_ref(), CHANGING)?;
        let prompt = written(modal, PROMPT).unwrap_or_default();
        may_edit(bot, guild, &by, name).await?;
        let channels = GuildChannels::new(bot.clone());
        let done = bot.manager.configurator.configure(
            guild,
            name,
            "system_prompt",
            &prompt,
            &by,
            &channels,
        );
        Ok(Body::sentence(done.await?))
    };
    let _ = responder.answer(Visibility::Ephemeral, work).await;
}
