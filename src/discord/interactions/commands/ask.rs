//! `/ask`: a prompt as a turn, for once with another model or mode.

use std::time::Duration;

use super::call::{
    Context, Here, Refusal, Responder, Visibility, agent_here, bot, person, responder,
};
use super::complete;
use crate::discord::bot::Bot;
use crate::discord::render;
use crate::discord::rest::body::Body;
use crate::domain::{Inbound, MessageId, Mode};

/// How long it may take to find out whether a model is there.
const FIND_OUT: Duration = Duration::from_millis(1_500);

/// How much a turn may take.
#[derive(Clone, Copy, Debug, poise::ChoiceParameter)]
enum ModeChoice {
    /// One answer, without tools.
    #[name = "direct"]
    Direct,
    /// Reads only.
    #[name = "lightweight"]
    Lightweight,
    /// As always.
    #[name = "standard"]
    Standard,
    /// Many steps.
    #[name = "full"]
    Full,
}

impl From<ModeChoice> for Mode {
    fn from(choice: ModeChoice) -> Self {
        match choice {
            ModeChoice::Direct => Self::Direct,
            ModeChoice::Lightweight => Self::Lightweight,
            ModeChoice::Standard => Self::Standard,
            ModeChoice::Full => Self::Full,
        }
    }
}

/// Asks the agent of this channel, for once with another model or mode
#[poise::command(slash_command, guild_only)]
pub(super) async fn ask(
    ctx: Context<'_>,
    #[description = "What to ask"]
    #[max_length = 6000]
    prompt: String,
    #[description = "Model to ask, this once"]
    #[autocomplete = "complete::model"]
    model: Option<String>,
    #[description = "direct answers without tools, lightweight only reads, full is for work of many steps"]
    mode: Option<ModeChoice>,
) -> Result<(), Refusal> {
    ask_with(ctx, prompt, model, mode.map(Mode::from)).await
}

/// Shows the prompt in the channel and starts a turn that answers it there.
pub(super) async fn ask_with(
    ctx: Context<'_>,
    prompt: String,
    model: Option<String>,
    mode: Option<Mode>,
) -> Result<(), Refusal> {
    let responder = responder(ctx);
    let here = match checked(ctx, &prompt).await {
        Ok(here) => here,
        Err(refusal) => return tell(&responder, refusal).await,
    };
    if let Some(refusal) = lacks_model(bot(ctx), model.as_deref()).await {
        return tell(&responder, refusal).await;
    }
    let body = render::asked(&person(ctx).name, &prompt, model.as_deref());
    let Some(shown) = show(&responder, &body).await else {
        return Ok(());
    };
    let message = as_message(ctx, &here, prompt, shown);
    if let Err(error) = bot(ctx)
        .manager
        .ask(&here.agent, message, model, mode)
        .await
    {
        let _ = responder.refuse_later(error.into()).await;
    }
    Ok(())
}

/// Why a model cannot be asked, which concerns nobody but the one who named it. Where that takes long to find out, the turn
/// says so: the prompt has to be shown within three seconds.
async fn lacks_model(bot: &Bot, model: Option<&str>) -> Option<Refusal> {
    let known = bot.manager.known_model(model?);
    let known = tokio::time::timeout(FIND_OUT, known).await.ok()?;
    known.err().map(Refusal::from)
}

/// The agent here, when there is something to ask it.
pub(super) async fn checked(ctx: Context<'_>, prompt: &str) -> Result<Here, Refusal> {
    if prompt.trim().is_empty() {
        return Err(Refusal::new("There is nothing to do: the prompt is empty."));
    }
    agent_here(ctx).await
}

/// What was asked by a command, as a message that its person wrote: the one shown for it.
pub(super) fn as_message(
    ctx: Context<'_>,
    here: &Here,
    prompt: String,
    shown: MessageId,
) -> Inbound {
    Inbound {
        id: shown,
        channel_id: here.channel,
        guild_id: here.agent.guild,
        parent_id: here.parent,
        author: person(ctx),
        content: prompt,
        attachments: Vec::new(),
        reply_to: None,
        quote: None,
        sent_at: shown.sent_at(),
        via: None,
    }
}

/// Posts the prompt as the command's answer; the id of that message is what the turn replies to. None when the command
/// expired, or nothing comes of it for want of that id, which is told then.
pub(in crate::discord) async fn show(responder: &Responder, body: &Body) -> Option<MessageId> {
    responder.say(body, Visibility::Public).await.ok()?;
    match responder.original().await {
        Ok(shown) => Some(shown),
        Err(error) => {
            let why = Refusal(format!("Nothing was begun: {error}. Ask again."));
            let _ = responder.refuse_later(why).await;
            None
        }
    }
}

pub(super) async fn tell(responder: &Responder, refusal: Refusal) -> Result<(), Refusal> {
    // A failed answer was logged where it failed; there is nobody left to tell.
    let _ = responder.refuse(refusal).await;
    Ok(())
}
