//! `/settings`: what this server's administrators decide.

mod access;
mod approval_timeout;
mod approvers;
mod grants;
mod idle_timeout;
mod model;
mod permissions;
mod roles;
mod set;
mod show;
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
        "idle_timeout::idle_timeout",
        "approval_timeout::approval_timeout",
        "grants::grants",
        "approvers::approvers",
        "access::access"
    )
)]
pub(super) async fn settings(_: Context<'_>) -> Result<(), Refusal> {
    Ok(())
}
