//! `/context save`: a checkpoint of the conversation.

use super::super::call::{Context, answer, bot, person};
use super::super::sight::agent_here;
use crate::agent::AfterSave;
use crate::discord::bot::Refusal;
use crate::discord::interactions::Visibility;
use crate::discord::render;

/// Saves the conversation as a session; it goes on afterwards
#[poise::command(slash_command)]
pub(super) async fn save(
    ctx: Context<'_>,
    #[description = "Label of the session; a summary if left out"]
    #[max_length = 100]
    description: Option<String>,
    #[description = "Clear the conversation afterwards"] clear: Option<bool>,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Public, async {
        let here = agent_here(ctx).await?;
        let then = if clear.unwrap_or(false) {
            AfterSave::Clear
        } else {
            AfterSave::Keep
        };
        let saved = bot(ctx)
            .manager
            .context_save(here.channel, here.parent, description, then, &person(ctx))
            .await?;
        Ok(render::saved(&saved, then))
    })
    .await
}
