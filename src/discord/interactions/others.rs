//! *Use another model* below a failure: a menu of models that answered lately, for the person who pressed; the chosen one tries
//! again.

use serenity::all::ComponentInteraction;

use super::commands::menus;
use super::here::Here;
use super::resume::{AGAIN, WRITE, pressed, take_buttons_off};
use super::{Responder, Visibility};
use crate::agent::Overrides;
use crate::discord::bot::{Bot, Refusal};
use crate::discord::render;
use crate::discord::rest::body::Body;
use crate::domain::MessageId;

/// Offers the models that answered in this server within a day. `without` is the model that failed, or its provider.
pub(super) async fn offer(
    bot: &Bot,
    responder: &Responder,
    press: &ComponentInteraction,
    without: &str,
) {
    let work = async {
        let here = Here::of_press(bot, press).await?;
        let since = crate::clock::now() - chrono::TimeDelta::days(1);
        let answered = bot.store.models_answering(here.agent.guild, since).await?;
        let names: Vec<String> = answered
            .into_iter()
            .filter(|(provider, model)| {
                provider != without && format!("{provider}/{model}") != without
            })
            .map(|(provider, model)| format!("{provider}/{model}"))
            .collect();
        if names.is_empty() {
            return Err(Refusal::new(
                "No other model has answered here in the last day. `/models` lists them all; `/ask` uses one for a single question.",
            ));
        }
        let id = format!("model:{}", pressed(press));
        let menu = menus::of_names(id, "Try again with …", names);
        Ok(Body::text("Which model should try again?").menu(Some(menu)))
    };
    // A failed answer was logged where it failed; there is no one else to notify.
    let _ = responder.answer(Visibility::Ephemeral, work).await;
}

/// Makes the chosen model try again. `failure` is the message with the failure.
pub(super) async fn ask(
    bot: &Bot,
    responder: &Responder,
    press: &ComponentInteraction,
    failure: &str,
) {
    let work = async {
        let here = Here::of_press(bot, press).await?;
        let gone = || Refusal::new("This menu has expired. Press the button again.");
        let model = menus::chosen(press).ok_or_else(gone)?.to_owned();
        let failure = MessageId(failure.parse().map_err(|_| gone())?);
        let served = bot.once.press(failure, &here.person, WRITE)?;
        let body = render::asked(&here.person.name, AGAIN, Some(&model));
        Ok((body, (here, served, model, failure)))
    };
    let Some((shown, (here, served, model, failure))) = responder.show(work).await else {
        return;
    };
    let (agent, channel) = (here.agent.clone(), here.channel);
    let message = here.says(shown, AGAIN);
    let overrides = Overrides::model(Some(model));
    let asked = bot.manager.routing.ask(&agent, message, overrides).await;
    if let Err(error) = asked {
        let _ = responder.refuse_later(error.into()).await;
        return;
    }
    served.was_served();
    take_buttons_off(bot, channel, failure).await;
}
