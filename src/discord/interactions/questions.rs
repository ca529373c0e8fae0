//! Presses on the card of a question of `ask_person`, and its form. The card itself is updated through the outbox.

use serenity::all::{ComponentInteraction, ComponentInteractionDataKind, ModalInteraction};

use super::here::Here;
use super::{Responder, Visibility};
use crate::discord::bot::{Bot, Refusal};
use crate::discord::rest::body::Body;
use crate::discord::rest::modal::{Modal, TextInput, written};
use crate::domain::MessageId;
use crate::manager::recovery::Reply;

/// The beginning of the id of the form; the id of the question follows.
pub(super) const ANSWER_FORM: &str = "ask:";

/// The field of the form.
const ANSWER: &str = "answer";

/// Most characters of an answer in the form.
const LONGEST: usize = 1_000;

/// Handles a press on a button or a choice from a menu: `<id>:<place>`, `<id>:pick` or `<id>:other`.
pub(super) async fn pressed(
    bot: &Bot,
    responder: &Responder,
    press: &ComponentInteraction,
    about: &str,
) {
    let Some((id, what)) = parse(about) else {
        return tell(responder, &unknown()).await;
    };
    if what == "other" {
        return open_form(bot, responder, press, id).await;
    }
    if responder.acknowledge().await.is_err() {
        return;
    }
    if let Err(refusal) = choose(bot, press, id, what).await {
        // A failed answer was logged where it failed; there is no one else to notify.
        let _ = responder.refuse_later(refusal).await;
    }
}

/// Handles the submitted form.
pub(super) async fn submitted(
    bot: &Bot,
    responder: &Responder,
    form: &ModalInteraction,
    about: &str,
) {
    let answered = async {
        let id = about.parse().map_err(|_| unknown())?;
        let here = Here::of_form(bot, form).await?;
        let words = written(form, ANSWER).unwrap_or_default();
        let words = words.trim();
        if words.is_empty() {
            return Err(Refusal::new("The answer is empty, so it was not sent."));
        }
        let recovery = &bot.manager.recovery;
        let card = form.message.as_ref().map(|card| MessageId(card.id.get()));
        let place = (here.channel, card);
        let question = recovery.open_question(id, &here.person, place).await?;
        let reply = Reply::Words(words.to_owned());
        recovery.answer(&question, reply, &here.person).await?;
        Ok(())
    };
    if responder.acknowledge().await.is_err() {
        return;
    }
    if let Err(refusal) = answered.await {
        let _ = responder.refuse_later(refusal).await;
    }
}

fn parse(about: &str) -> Option<(i64, &str)> {
    let (id, what) = about.split_once(':')?;
    Some((id.parse().ok()?, what))
}

fn unknown() -> Refusal {
    Refusal::new("This button no longer works.")
}

async fn choose(
    bot: &Bot,
    press: &ComponentInteraction,
    id: i64,
    what: &str,
) -> Result<(), Refusal> {
    let places: Vec<usize> = match (&press.data.kind, what) {
        (ComponentInteractionDataKind::StringSelect { values }, "pick") => {
            let places = values.iter().map(|value| value.parse());
            places.collect::<Result<_, _>>().map_err(|_| unknown())?
        }
        (_, place) => vec![place.parse().map_err(|_| unknown())?],
    };
    let here = Here::of_press(bot, press).await?;
    let recovery = &bot.manager.recovery;
    let place = (here.channel, Some(MessageId(press.message.id.get())));
    let question = recovery.open_question(id, &here.person, place).await?;
    recovery
        .answer(&question, Reply::Options(places), &here.person)
        .await?;
    Ok(())
}

/// Handles *Other…*: a form must be the first response.
async fn open_form(bot: &Bot, responder: &Responder, press: &ComponentInteraction, id: i64) {
    let may = async {
        let here = Here::of_press(bot, press).await?;
        let place = (here.channel, Some(MessageId(press.message.id.get())));
        let recovery = &bot.manager.recovery;
        recovery.open_question(id, &here.person, place).await?;
        Ok::<_, Refusal>(())
    };
    match may.await {
        Ok(()) => {
            let field = TextInput::paragraph(ANSWER, "Your answer").length(1, LONGEST);
            let form = Modal::new(format!("{ANSWER_FORM}{id}"), "Answer").field(field);
            let _ = responder.open(&form).await;
        }
        Err(refusal) => tell(responder, &refusal).await,
    }
}

async fn tell(responder: &Responder, refusal: &Refusal) {
    let body = Body::sentence(&refusal.0);
    let _ = responder.say(&body, Visibility::Ephemeral).await;
}
