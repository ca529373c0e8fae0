//! `/settings idle-timeout` and `/settings approval-timeout`.

use super::super::call::Context;
use super::set;
use crate::config::effective;
use crate::discord::bot::Refusal;

/// Sets after how much silence a conversation is saved and cleared
#[poise::command(slash_command, rename = "idle-timeout")]
pub(super) async fn idle_timeout(
    ctx: Context<'_>,
    #[description = "Seconds, or such as 30m or 2h; 0 is never"] timeout: String,
) -> Result<(), Refusal> {
    set::set(ctx, &effective::IDLE_TIMEOUT, timeout).await
}

/// Sets how long a question waits before it is denied
#[poise::command(slash_command, rename = "approval-timeout")]
pub(super) async fn approval_timeout(
    ctx: Context<'_>,
    #[description = "Seconds, or such as 5m"] timeout: String,
) -> Result<(), Refusal> {
    set::set(ctx, &effective::APPROVAL_TIMEOUT, timeout).await
}
