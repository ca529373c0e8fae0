//! Buttons for actions that people would otherwise have to type: restore a saved session, undo a clear, continue a turn
//! that ended early, try one again.
//!
//! A public button is for one press: it is removed once that is served, and a second person learns who was first.

use serenity::all::{ComponentInteraction, ComponentInteractionDataKind};
use tracing::warn;

use super::here::Here;
use super::{Responder, Visibility};
use crate::agent::{ContextAction, Overrides};
use crate::discord::bot::{Bot, Refusal};
use crate::discord::render;
use crate::discord::rest::body::Body;
use crate::domain::{ChannelId, MessageId, TurnId};
use crate::manager::ManagerError;

/// The words of *Continue* to the model.
const GO_ON: &str = "Continue where you stopped.";

/// The words of *Try again* to the model.
pub(super) const AGAIN: &str = "That failed. Try again.";

/// What to do instead of pressing a used button to restore.
const SEE_HISTORY: &str = "`/context history` lists the saved sessions.";

/// What to do instead of pressing a used button to continue.
pub(super) const WRITE: &str = "Write here to continue.";

/// Handles *Resume* and *Undo*, which are public: the session of this id replaces the conversation, and the button is
/// removed.
pub(super) async fn restore(
    bot: &Bot,
    responder: &Responder,
    press: &ComponentInteraction,
    session: &str,
) {
    let mut is_done = false;
    let work = async {
        let here = Here::of_press(bot, press).await?;
        let served = bot.once.press(pressed(press), &here.person, SEE_HISTORY)?;
        let restored = put_back(bot, &here, session).await?;
        served.was_served();
        is_done = true;
        Ok(restored)
    };
    // A failed answer was logged where it failed; there is no one else to notify.
    let _ = responder.answer(Visibility::Public, work).await;
    if is_done {
        take_button_off(bot, press).await;
    }
}

/// Restores a session from a list, which one person sees and where the button stays; its menu offers another session.
pub(super) async fn restore_listed(
    bot: &Bot,
    responder: &Responder,
    press: &ComponentInteraction,
    session: &str,
) {
    let session = match &press.data.kind {
        ComponentInteractionDataKind::StringSelect { values } => values.first(),
        _ => None,
    }
    .map_or(session, String::as_str);
    let work = async {
        let here = Here::of_press(bot, press).await?;
        put_back(bot, &here, session).await
    };
    // A failed answer was logged where it failed; there is no one else to notify.
    let _ = responder.answer(Visibility::Public, work).await;
}

async fn put_back(bot: &Bot, here: &Here, session: &str) -> Result<Body, Refusal> {
    let session = session.to_owned();
    let restore = |reply| ContextAction::Restore { session, reply };
    let by = (&here.person).into();
    let context = bot
        .manager
        .routing
        .context(&here.agent, here.channel, by, restore)
        .await?;
    Ok(render::restored(&context))
}

/// Restores the conversation of an interrupted turn, if the idle timer has saved it since.
async fn put_saved_back(bot: &Bot, here: &Here, turn: TurnId) -> Result<(), Refusal> {
    let recovery = &bot.manager.recovery;
    let saved = recovery.saved_since(turn, here.channel).await;
    if let Some(session) = saved.map_err(ManagerError::from)? {
        put_back(bot, here, &session.to_string()).await?;
    }
    Ok(())
}

/// Handles *Continue*, under the interrupted turn if one is named, and *Try again*: a turn for the person who pressed,
/// as if they had written it.
pub(super) async fn go_on(
    bot: &Bot,
    responder: &Responder,
    press: &ComponentInteraction,
    continued: Option<&str>,
) {
    let prompt = if continued.is_some() { GO_ON } else { AGAIN };
    let interrupted: Option<TurnId> = continued.and_then(|turn| turn.parse().ok());
    let work = async {
        let here = Here::of_press(bot, press).await?;
        let served = bot.once.press(pressed(press), &here.person, WRITE)?;
        if let Some(turn) = interrupted {
            put_saved_back(bot, &here, turn).await?;
        }
        let body = render::asked(&here.person.name, prompt, None);
        Ok((body, (here, served)))
    };
    let Some((shown, (here, served))) = responder.show(work).await else {
        return;
    };
    let agent = here.agent.clone();
    let message = here.says(shown, prompt);
    let asked = bot
        .manager
        .routing
        .ask(&agent, message, Overrides::default())
        .await;
    if let Err(error) = asked {
        let _ = responder.refuse_later(error.into()).await;
        return;
    }
    served.was_served();
    take_button_off(bot, press).await;
}

/// Returns the message whose button was pressed.
pub(super) fn pressed(press: &ComponentInteraction) -> MessageId {
    MessageId(press.message.id.get())
}

async fn take_button_off(bot: &Bot, press: &ComponentInteraction) {
    take_buttons_off(bot, ChannelId(press.channel_id.get()), pressed(press)).await;
}

/// Removes the buttons from a message; one of them was used.
pub(super) async fn take_buttons_off(bot: &Bot, channel: ChannelId, message: MessageId) {
    if let Err(error) = bot.rest.remove_buttons(channel, message).await {
        warn!(%error, channel.id = %channel, "failed to remove a button that was pressed");
    }
}
