//! `/settings approval-timeout`.

use super::super::{Context, Refusal};
use crate::config::SettingKey;

/// Sets how long a question waits before it is denied
#[poise::command(slash_command, rename = "approval-timeout")]
pub(super) async fn approval_timeout(
    ctx: Context<'_>,
    #[description = "Seconds, or such as 5m"] timeout: String,
) -> Result<(), Refusal> {
    super::set(ctx, SettingKey::ApprovalTimeout, timeout).await
}
