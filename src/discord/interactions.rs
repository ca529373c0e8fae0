//! Slash commands, buttons and forms: requests of people to the bot itself, and its answers.

mod budgets;
mod buttons;
mod chosen;
mod commands;
mod first;
mod here;
mod interrupted;
mod others;
mod questions;
pub(super) mod registration;
mod responder;
mod resume;
pub(super) mod retries;

use serenity::all::{FullEvent, Interaction};

use super::bot::Bot;
use super::rest::body::Body;
use crate::agent::event::Arrived;
use crate::domain::GuildId;
use crate::manager::PRIVATE;

pub(super) use self::commands::options;
use self::responder::{Responder, Visibility};

/// Serves a command, a completion, a press or a form, once. `arrived` is held until a press that may deny a question is judged.
pub(super) async fn serve(bot: &Bot, interaction: Interaction, arrived: Option<Arrived>) {
    if !bot.once.is_new(interaction.id().get()) {
        return;
    }
    if !is_for_us(bot, &interaction) {
        return turn_away(bot, &interaction).await;
    }
    match interaction {
        Interaction::Command(_) | Interaction::Autocomplete(_) => {
            commands::dispatch(bot, FullEvent::InteractionCreate { interaction }).await;
        }
        Interaction::Component(press) => buttons::pressed(bot, &press, arrived).await,
        Interaction::Modal(form) => buttons::submitted(bot, &form, arrived).await,
        _ => {}
    }
}

/// Returns whether an interaction is served: one from a served server, or from direct messages; and the operator's
/// decision about a server, wherever it is pressed.
fn is_for_us(bot: &Bot, interaction: &Interaction) -> bool {
    let guild = match interaction {
        Interaction::Command(command) | Interaction::Autocomplete(command) => command.guild_id,
        Interaction::Component(press) if press.data.custom_id.starts_with("server:") => None,
        Interaction::Component(press) => press.guild_id,
        Interaction::Modal(form) => form.guild_id,
        _ => None,
    };
    guild.is_none_or(|guild| bot.serves(GuildId(guild.get())))
}

/// Answers an interaction from a server that is not served; suggestions are not answered at all.
async fn turn_away(bot: &Bot, interaction: &Interaction) {
    let token = match interaction {
        Interaction::Command(command) => &command.token,
        Interaction::Component(press) => &press.token,
        Interaction::Modal(form) => &form.token,
        _ => return,
    };
    let responder = Responder::new(bot, None, interaction.id().get(), token);
    // A failed answer was logged where it failed; there is no one else to notify.
    let _ = responder
        .say(&Body::text(PRIVATE), Visibility::Ephemeral)
        .await;
}
