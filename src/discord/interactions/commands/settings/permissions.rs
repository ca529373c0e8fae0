//! `/settings permissions`.

use super::super::call::{Context, answer, bot};
use super::super::complete;
use super::set;
use crate::config::{effective, is_default};
use crate::discord::bot::Refusal;
use crate::discord::interactions::Visibility;
use crate::text::escape;

/// Sets the permission profile of new agents
#[poise::command(slash_command)]
pub(super) async fn permissions(
    ctx: Context<'_>,
    #[description = "The profile"]
    #[autocomplete = "complete::profile"]
    profile: String,
) -> Result<(), Refusal> {
    let profiles = bot(ctx).profiles.load();
    if is_default(&profile) || profiles.iter().any(|(name, _)| name == profile) {
        return set::set(ctx, &effective::DEFAULT_PERMISSIONS, profile).await;
    }
    let refusal = format!(
        "There is no profile {}; /permissions shows them all.",
        escape::code(&profile)
    );
    answer(ctx, Visibility::Ephemeral, async { Err(Refusal(refusal)) }).await
}
