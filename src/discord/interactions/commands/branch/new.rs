//! `/branch new`: a conversation beside the main one.

use super::super::ask::{as_message, checked, show, tell};
use super::super::call::{Context, bot, person, responder};
use crate::discord::bot::Refusal;
use crate::discord::interactions::Visibility;
use crate::discord::render;
use crate::discord::rest::body::Body;

/// Opens a conversation beside the main one, in the same workspace
#[poise::command(slash_command)]
pub(super) async fn new(
    ctx: Context<'_>,
    #[description = "What it is to do"]
    #[max_length = 6000]
    prompt: String,
) -> Result<(), Refusal> {
    let responder = responder(ctx);
    let mut here = match checked(ctx, &prompt).await {
        Ok(here) => here,
        Err(refusal) => return tell(&responder, refusal).await,
    };
    // A branch hangs under the agent, wherever it was asked for.
    here.channel = here.agent.channel.unwrap_or(here.channel);
    here.parent = None;
    let by = person(ctx).name;
    let Some(shown) = show(&responder, &render::branch_asked(&by, &prompt)).await else {
        return Ok(());
    };
    let message = as_message(ctx, &here, prompt.clone(), shown);
    match bot(ctx).manager.branch_new(message, None).await {
        Ok(number) => {
            let _ = responder
                .keep_promise(&render::branch_opened(number, &by, &prompt))
                .await;
        }
        Err(error) => {
            let _ = responder
                .follow_up(
                    &Body::sentence(Refusal::from(error).0),
                    Visibility::Ephemeral,
                )
                .await;
        }
    }
    Ok(())
}
