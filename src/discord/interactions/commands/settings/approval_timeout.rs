//! `/settings approval-timeout`.

use super::super::call::Context;
use super::set;
use crate::config::SettingKey;
use crate::discord::bot::Refusal;

/// Sets how long a question waits before it is denied
#[poise::command(slash_command, rename = "approval-timeout")]
pub(super) async fn approval_timeout(
    ctx: Context<'_>,
    #[description = "Seconds, or such as 5m"] timeout: String,
) -> Result<(), Refusal> {
    set::set(ctx, SettingKey::ApprovalTimeout, timeout).await
}
