//! `/settings permissions`.

use super::super::{Context, Refusal, answer, bot, complete};
use crate::config::SettingKey;
use crate::discord::escape;
use crate::discord::interaction::Eyes;

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
        return super::set(ctx, SettingKey::DefaultPermissions, profile).await;
    }
    let refusal = format!(
        "There is no profile {}; /permissions shows them all.",
        escape::code(&profile)
    );
    answer(ctx, Eyes::One, async { Err(Refusal(refusal)) }).await
}
