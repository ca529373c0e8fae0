//! Buttons that do what a text would otherwise say to type: go on with a saved session, take a clearing back, go on with a
//! turn that ended early, try one again.

use serenity::all::{ComponentInteraction, ComponentInteractionDataKind};

use super::commands::show_prompt;
use super::here::Here;
use super::{Responder, Visibility};
use crate::agent::{ContextAction, Overrides};
use crate::discord::bot::Bot;
use crate::discord::render;
use crate::domain::MessageId;

/// What the model is asked by *Continue*.
const GO_ON: &str = "Continue where you stopped.";

/// What the model is asked by *Try again*.
const AGAIN: &str = "That failed. Try again.";

/// *Restore* and *Undo*: the session of this id takes the place of the conversation.
pub(super) async fn restore(
    bot: &Bot,
    responder: &Responder,
    press: &ComponentInteraction,
    session: &str,
) {
    let work = async {
        let here = Here::of_press(bot, press).await?;
        let session = session.to_owned();
        let restore = |reply| ContextAction::Restore { session, reply };
        let by = (&here.person).into();
        let manager = &bot.manager;
        let restored = manager
            .context(&here.agent, here.channel, by, restore)
            .await?;
        Ok(render::restored(&restored))
    };
    let _ = responder.answer(Visibility::Public, work).await;
}

/// The same for the session that was chosen from a menu.
pub(super) async fn restore_chosen(bot: &Bot, responder: &Responder, press: &ComponentInteraction) {
    if let ComponentInteractionDataKind::StringSelect { values } = &press.data.kind
        && let Some(session) = values.first()
    {
        restore(bot, responder, press, session).await;
    }
}

/// *Continue* and *Try again*: a turn for whoever pressed, as if they had written it. The button goes, so that it is pressed
/// once.
pub(super) async fn go_on(
    bot: &Bot,
    responder: &Responder,
    press: &ComponentInteraction,
    again: bool,
) {
    let here = match Here::of_press(bot, press).await {
        Ok(here) => here,
        Err(refusal) => {
            let _ = responder.refuse(refusal).await;
            return;
        }
    };
    let prompt = if again { AGAIN } else { GO_ON };
    let body = render::asked(&here.person.name, prompt, None);
    let Some(shown) = show_prompt(responder, &body).await else {
        return;
    };
    let (agent, channel) = (here.agent.clone(), here.channel);
    let message = here.says(shown, prompt);
    let asked = bot.manager.ask(&agent, message, Overrides::default()).await;
    if let Err(error) = asked {
        let _ = responder.refuse_later(error.into()).await;
        return;
    }
    let pressed = MessageId(press.message.id.get());
    if let Err(error) = bot.rest.remove_buttons(channel, pressed).await {
        tracing::warn!(%error, "failed to remove a button that was pressed");
    }
}
