//! Presses on the card about an interrupted turn.

use serenity::all::ComponentInteraction;

use super::here::Here;
use super::{Responder, Visibility};
use crate::discord::bot::{Bot, Refusal};
use crate::discord::rest::body::Body;
use crate::domain::MessageId;
use crate::permission::may_answer;
use crate::store::ResumeChoice;

/// Handles a press on a button of a card: `<choice>:<turn>`. The card itself is updated through the outbox.
pub(super) async fn pressed(
    bot: &Bot,
    responder: &Responder,
    press: &ComponentInteraction,
    about: &str,
) {
    if responder.acknowledge().await.is_err() {
        return;
    }
    if let Err(Refusal(why)) = choose(bot, press, about).await {
        // A failed answer was logged where it failed; there is no one else to notify.
        let _ = responder
            .follow_up(&Body::sentence(why), Visibility::Ephemeral)
            .await;
    }
}

async fn choose(bot: &Bot, press: &ComponentInteraction, about: &str) -> Result<(), Refusal> {
    let unknown = || Refusal::new("This button no longer works.");
    let (choice, turn) = about.split_once(':').ok_or_else(unknown)?;
    let choice: ResumeChoice = choice.parse().map_err(|_| unknown())?;
    let turn = turn.parse().map_err(|_| unknown())?;
    let here = Here::of_press(bot, press).await?;
    let store = bot.manager.deps().store.clone();
    let row = store.turn(turn).await.map_err(Refusal::from)?;
    let row = row.ok_or_else(unknown)?;
    // A press in another channel would be judged by another agent's rights.
    if row.begun.agent != here.agent.id || row.begun.channel != here.channel {
        return Err(unknown());
    }
    let calls = store.started_calls(turn).await.map_err(Refusal::from)?;
    let mut agents = vec![here.agent.id];
    let others = calls.iter().map(|call| call.agent);
    agents.extend(others.filter(|agent| *agent != here.agent.id));
    let joined = bot.manager.access.may_join(&here.person, &agents).await;
    joined.map_err(|why| Refusal::new(why.to_string()))?;
    if choice == ResumeChoice::Again {
        let server = bot.manager.settings.server(here.agent.guild);
        let requesters = store.people_behind(turn).await.map_err(Refusal::from)?;
        if !may_answer(&here.person, &server.approver_roles, &requesters) {
            return Err(Refusal::new(
                "Only people who may answer approvals can run calls again: the person who asked, and members with an approver role or Manage Server.",
            ));
        }
    }
    let card = MessageId(press.message.id.get());
    let chosen = bot
        .manager
        .recovery
        .choose(turn, choice, &here.person, card);
    Ok(chosen.await?)
}
