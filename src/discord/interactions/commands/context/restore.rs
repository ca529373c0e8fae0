//! `/context restore`: a saved session becomes the conversation.

use super::super::call::{Context, answer, bot, person};
use super::super::complete;
use super::super::sight::agent_here;
use crate::discord::bot::Refusal;
use crate::discord::interactions::Visibility;
use crate::discord::render;

/// Goes on with a saved session in place of the conversation
#[poise::command(slash_command)]
pub(super) async fn restore(
    ctx: Context<'_>,
    #[description = "Id, its first characters, or the file's name"]
    #[autocomplete = "complete::session"]
    session_id: String,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Public, async {
        let here = agent_here(ctx).await?;
        let restored = bot(ctx)
            .manager
            .context_restore(here.channel, here.parent, &session_id, &person(ctx))
            .await?;
        Ok(render::restored(&restored))
    })
    .await
}
