//! `/settings permissions`.

use super::super::call::{Context, answer, bot};
use super::super::complete;
use super::set;
use crate::config::SettingKey;
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
    if bot(ctx)
        .profiles
        .load()
        .iter()
        .any(|(name, _)| name == profile)
    {
        return set::set(ctx, SettingKey::DefaultPermissions, profile).await;
    }
    let refusal = format!(
        "There is no profile {}; /permissions shows them all.",
        escape::code(&profile)
    );
    answer(ctx, Visibility::Ephemeral, async { Err(Refusal(refusal)) }).await
}
