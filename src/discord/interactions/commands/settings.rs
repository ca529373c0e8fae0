//! `/settings`: what this server's administrators decide.

mod grants;
mod model;
mod permissions;
mod roles;
mod set;
mod show;
mod timeouts;
mod validate_keys;

use super::call::Context;
use crate::discord::bot::Refusal;

/// Shows and changes what holds for the agents of this server
#[poise::command(
    slash_command,
    guild_only,
    subcommand_required,
    default_member_permissions = "ADMINISTRATOR",
    subcommands(
        "model::model",
        "permissions::permissions",
        "show::show",
        "validate_keys::validate_keys",
        "timeouts::idle_timeout",
        "timeouts::approval_timeout",
        "grants::grants",
        "roles::approvers",
        "roles::access"
    )
)]
#[expect(clippy::unused_async, reason = "poise awaits every command")]
pub(super) async fn settings(_: Context<'_>) -> Result<(), Refusal> {
    Ok(())
}
