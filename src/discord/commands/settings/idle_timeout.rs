//! `/settings idle-timeout`.

use super::super::{Context, Refusal};
use crate::config::SettingKey;

/// Sets after how much silence a conversation is saved and cleared
#[poise::command(slash_command, rename = "idle-timeout")]
pub(super) async fn idle_timeout(
    ctx: Context<'_>,
    #[description = "Seconds, or such as 30m or 2h; 0 is never"] timeout: String,
) -> Result<(), Refusal> {
    super::set(ctx, SettingKey::IdleTimeout, timeout).await
}
