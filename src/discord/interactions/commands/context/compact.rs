//! `/context compact`: the older part of the conversation becomes a summary.

use super::super::call::{Context, answer, bot};
use super::super::sight::agent_here;
use crate::discord::bot::Refusal;
use crate::discord::interactions::Visibility;
use crate::discord::rest::body::Body;

/// Replaces the older part of the conversation by a summary
#[poise::command(slash_command)]
pub(super) async fn compact(ctx: Context<'_>) -> Result<(), Refusal> {
    answer(ctx, Visibility::Public, async {
        let here = agent_here(ctx).await?;
        let compacted = bot(ctx)
            .manager
            .context_compact(here.channel, here.parent)
            .await?;
        Ok(Body::sentence(compacted))
    })
    .await
}
