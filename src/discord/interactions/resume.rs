//! Buttons that do what a text would otherwise say to type: go on with a saved session, take a clearing back, go on with a
//! turn that ended early, try one again.

use serenity::all::{ComponentInteraction, ComponentInteractionDataKind};

use super::commands::call::{admits, who};
use super::commands::show_prompt;
use super::{Responder, Visibility};
use crate::agent::{ContextAction, Mode};
use crate::discord::bot::{Bot, Refusal};
use crate::discord::render;
use crate::discord::rest::body::Body;
use crate::domain::{ChannelId, Inbound, MessageId, Person};
use crate::manager::{AgentSummary, ManagerError};

/// What the model is asked by *Continue*.
const GO_ON: &str = "Continue where you stopped.";

/// What the model is asked by *Try again*.
const AGAIN: &str = "That failed. Try again.";

/// Who pressed, where, and whose channel that is.
struct Here {
    person: Person,
    channel: ChannelId,
    parent: Option<ChannelId>,
    agent: AgentSummary,
}

/// *Restore* and *Undo*: the session of this id takes the place of the conversation.
pub(super) async fn restore(
    bot: &Bot,
    responder: &Responder,
    press: &ComponentInteraction,
    session: &str,
) {
    let work = async {
        let here = here(bot, press).await?;
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
    let here = match here(bot, press).await {
        Ok(here) => here,
        Err(refusal) => {
            let body = Body::sentence(refusal.0);
            let _ = responder.say(&body, Visibility::Ephemeral).await;
            return;
        }
    };
    let prompt = if again { AGAIN } else { GO_ON };
    let body = render::asked(&here.person.name, prompt, None);
    let Some(shown) = show_prompt(responder, &body).await else {
        return;
    };
    let message = Inbound {
        id: shown,
        channel_id: here.channel,
        guild_id: here.agent.guild,
        parent_id: here.parent,
        author: here.person,
        content: prompt.to_owned(),
        attachments: Vec::new(),
        reply_to: None,
        quote: None,
        sent_at: shown.sent_at(),
        via: None,
    };
    let asked = bot
        .manager
        .ask(&here.agent, message, None, Mode::default())
        .await;
    if let Err(error) = asked {
        let body = Body::sentence(Refusal::from(error).0);
        let _ = responder.follow_up(&body, Visibility::Ephemeral).await;
        return;
    }
    let pressed = MessageId(press.message.id.get());
    if let Err(error) = bot.rest.remove_buttons(here.channel, pressed).await {
        tracing::warn!(%error, "failed to remove a button that was pressed");
    }
}

/// Who pressed and for which agent, once it is clear that they may talk to it.
async fn here(bot: &Bot, press: &ComponentInteraction) -> Result<Here, Refusal> {
    let (guild, person) = who(press.guild_id, press.member.as_ref())
        .ok_or_else(|| Refusal::new("Buttons work in a server."))?;
    let channel = ChannelId(press.channel_id.get());
    let parent = bot.parent_of(guild, channel);
    let agent = bot
        .manager
        .agent_for(channel, parent)
        .ok_or(ManagerError::NoAgentHere)?;
    admits(bot, &person, &agent).await?;
    Ok(Here {
        person,
        channel,
        parent,
        agent,
    })
}
