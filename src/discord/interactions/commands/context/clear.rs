//! `/context clear`: the conversation is discarded.

use super::super::call::{Context, answer, bot, person};
use super::super::sight::agent_here;
use crate::agent::BeforeClear;
use crate::discord::bot::Refusal;
use crate::discord::interactions::Visibility;
use crate::discord::render;

/// Discards the conversation
#[poise::command(slash_command)]
pub(super) async fn clear(
    ctx: Context<'_>,
    #[description = "Save it as a session first"] save_first: Option<bool>,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Public, async {
        let here = agent_here(ctx).await?;
        let first = if save_first.unwrap_or(false) {
            BeforeClear::Save
        } else {
            BeforeClear::Discard
        };
        let cleared = bot(ctx)
            .manager
            .context_clear(here.channel, here.parent, first, &person(ctx))
            .await?;
        Ok(render::cleared(&cleared))
    })
    .await
}
