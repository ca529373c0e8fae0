//! Questions that a press of Confirm answers, before they expire.

use serenity::all::ComponentInteraction;

use super::call::{Refusal, Responder, who};
use crate::clock;
use crate::discord::bot::Bot;
use crate::discord::bot::once::Press;
use crate::discord::rest::body::{Body, Button, Style};
use crate::domain::MessageId;

/// How long such a question can be answered, in seconds.
const SECONDS: i64 = 60;

/// Returns when a question that is asked now expires, in the form for the id of its button.
pub(super) fn until() -> i64 {
    clock::now().timestamp() + SECONDS
}

/// Returns whether a question with this `until` in the id of its button can still be answered.
pub(super) fn is_open(until: &str) -> bool {
    let until = until.parse::<i64>();
    until.is_ok_and(|until| clock::now().timestamp() <= until)
}

/// Returns the answer to a press that came too late: the action that was not done, and the command that asks again.
pub(super) fn expired(not_done: &str, command: &str) -> String {
    format!(
        "Nothing was {not_done}: this question expired after {SECONDS} s. Run `{command}` again."
    )
}

/// Returns the question with a button that confirms it, which has this id, and one that cancels it.
pub(super) fn question(body: Body, id: String) -> Body {
    body.row(vec![
        Button::new(id, "Confirm", Style::Danger),
        Button::new("cancel:", "Cancel", Style::Secondary),
    ])
}

/// Begins to serve a press on such a question, which is decided once, by Confirm or by Cancel.
pub(super) fn decided<'a>(
    bot: &'a Bot,
    press: &ComponentInteraction,
) -> Result<Press<'a>, Refusal> {
    let message = MessageId(press.message.id.get());
    let (_, person) = who(press.guild_id, press.member.as_ref())
        .ok_or_else(|| Refusal::new("Buttons work only in a server."))?;
    bot.once.press(
        message,
        &person,
        "Run the command again to get a new question.",
    )
}

/// Handles Cancel.
pub(in crate::discord::interactions) async fn cancel(
    bot: &Bot,
    responder: &Responder,
    press: &ComponentInteraction,
) {
    // A failed answer was logged where it failed; there is no one else to notify.
    let _ = match decided(bot, press) {
        Ok(decided) => {
            decided.was_served();
            let body = Body::text("Cancelled. Nothing was done.");
            responder.update(&body).await
        }
        Err(refusal) => responder.refuse(refusal).await,
    };
}
