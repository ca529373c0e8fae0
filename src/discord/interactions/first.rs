//! The button under the greeting of a server: a form that creates its first agent.

use serenity::all::{ComponentInteraction, ModalInteraction};

use super::commands::call::who_manages;
use super::commands::making::{self, MAKING};
use super::{Responder, Visibility};
use crate::discord::bot::Bot;
use crate::discord::bot::first_contact::FIRST_AGENT;
use crate::discord::rest::modal::{self, Modal, TextInput};
use crate::manager::{NewAgent, Refine};

/// The name that the form suggests, if it is free.
const NAME: &str = "lab";

/// Handles the press: opens the form.
pub(super) async fn pressed(bot: &Bot, responder: &Responder, press: &ComponentInteraction) {
    match who_manages(press.guild_id, press.member.as_ref(), MAKING) {
        Ok((guild, _)) => {
            let agents = bot.manager.directory.agents(guild);
            let is_free = agents.iter().all(|agent| agent.name.as_str() != NAME);
            // A failed answer was logged where it failed; there is no one else to notify.
            let _ = responder.open(&form(is_free)).await;
        }
        Err(refusal) => {
            let _ = responder.refuse(refusal).await;
        }
    }
}

fn form(name_is_free: bool) -> Modal {
    let name = if name_is_free { NAME } else { "" };
    let name = TextInput::line("name", "Name: 2 to 32 of a-z, 0-9, - and _")
        .length(2, 32)
        .value(name);
    let label = "Purpose and way of working (optional)";
    let prompt = TextInput::paragraph("system_prompt", label).optional();
    Modal::new(FIRST_AGENT, "Make an agent")
        .field(name)
        .field(prompt)
}

/// Handles the submitted form: creates the agent.
pub(super) async fn submitted(bot: &Bot, responder: &Responder, form: &ModalInteraction) {
    let work = async {
        let (guild, by) = who_manages(form.guild_id, form.member.as_ref(), MAKING)?;
        let written = |id| modal::written(form, id).map(|text| text.trim().to_owned());
        let new = NewAgent {
            name: written("name").unwrap_or_default(),
            system_prompt: written("system_prompt").filter(|text| !text.is_empty()),
            refine: Refine::Keep,
            model: None,
            permission_profile: None,
            basis: None,
            folder: None,
            by,
            guild,
        };
        making::make(bot, form.id.get(), new).await
    };
    let _ = responder.answer(Visibility::Ephemeral, work).await;
}
