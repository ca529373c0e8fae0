//! The button under the greeting of a server: a form that makes its first agent.

use serde_json::{Value, json};
use serenity::all::{ActionRowComponent, ComponentInteraction, ModalInteraction};

use super::commands::call::who_manages;
use super::commands::making::{self, MAKING};
use super::{Responder, Visibility};
use crate::discord::bot::Bot;
use crate::discord::bot::first_contact::FIRST_AGENT;
use crate::discord::rest::body::Body;
use crate::manager::{NewAgent, Refine};

/// The name in the form, where it is free.
const NAME: &str = "lab";

/// The press: opens the form.
pub(super) async fn pressed(bot: &Bot, responder: &Responder, press: &ComponentInteraction) {
    match who_manages(press.guild_id, press.member.as_ref(), MAKING) {
        Ok((guild, _)) => {
            let agents = bot.manager.agents(guild);
            let is_free = agents.iter().all(|agent| agent.name.as_str() != NAME);
            // A failed answer was logged where it failed; there is nobody left to tell.
            let _ = responder.form(form(is_free)).await;
        }
        Err(refusal) => {
            let body = Body::sentence(refusal.0);
            let _ = responder.say(&body, Visibility::Ephemeral).await;
        }
    }
}

fn form(name_is_free: bool) -> Value {
    let row = |input: Value| json!({"type": 1, "components": [input]});
    let name = if name_is_free { NAME } else { "" };
    json!({
        "custom_id": FIRST_AGENT,
        "title": "Make an agent",
        "components": [
            row(json!({
                "type": 4,
                "custom_id": "name",
                "label": "Name: 2 to 32 of a-z, 0-9, - and _",
                "style": 1,
                "min_length": 2,
                "max_length": 32,
                "required": true,
                "value": name,
            })),
            row(json!({
                "type": 4,
                "custom_id": "system_prompt",
                "label": "What it is for and how it works (optional)",
                "style": 2,
                "max_length": 4_000,
                "required": false,
            })),
        ],
    })
}

/// The form as it was sent: makes the agent.
pub(super) async fn submitted(bot: &Bot, responder: &Responder, form: &ModalInteraction) {
    let work = async {
        let (guild, by) = who_manages(form.guild_id, form.member.as_ref(), MAKING)?;
        let written = |id: &str| field(form, id).map(|text| text.trim().to_owned());
        let new = NewAgent {
            name: written("name").unwrap_or_default(),
            system_prompt: written("system_prompt").filter(|text| !text.is_empty()),
            refine: Refine::Keep,
            model: None,
            permission_profile: None,
            basis: None,
            by,
            guild,
        };
        making::make(bot, form.id.get(), new).await
    };
    let _ = responder.answer(Visibility::Ephemeral, work).await;
}

/// What was written into a field.
fn field(form: &ModalInteraction, id: &str) -> Option<String> {
    let parts = form.data.components.iter().flat_map(|row| &row.components);
    let mut inputs = parts.filter_map(|part| match part {
        ActionRowComponent::InputText(input) => Some(input),
        _ => None,
    });
    inputs.find(|input| input.custom_id == id)?.value.clone()
}
