//! `/settings validate-keys`: asks each provider whether it takes our key, and what it offers.

use super::super::call::{Context, answer, bot};
use crate::discord::bot::Refusal;
use crate::discord::interactions::Visibility;
use crate::discord::render;

/// Checks the providers' keys and learns which models they offer
#[poise::command(slash_command, rename = "validate-keys")]
pub(super) async fn validate_keys(ctx: Context<'_>) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let found = bot(ctx).models.discover().await;
        Ok(render::keys(&found))
    })
    .await
}
