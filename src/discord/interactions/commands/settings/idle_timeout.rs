//! `/settings idle-timeout`.

use super::super::call::Context;
use super::set;
use crate::config::SettingKey;
use crate::discord::bot::Refusal;

/// Sets after how much silence a conversation is saved and cleared
#[poise::command(slash_command, rename = "idle-timeout")]
pub(super) async fn idle_timeout(
    ctx: Context<'_>,
    #[description = "Seconds, or such as 30m or 2h; 0 is never"] timeout: String,
) -> Result<(), Refusal> {
    set::set(ctx, SettingKey::IdleTimeout, timeout).await
}
