//! `/servers`: which servers the bot serves; for its operator alone.

mod accept;
mod list;
mod named;
mod remove;

use super::call::Context;
use crate::discord::bot::Refusal;

/// Lists, accepts and removes servers; for the operator of this bot
#[poise::command(
    slash_command,
    guild_only,
    subcommand_required,
    category = "operator",
    default_member_permissions = "ADMINISTRATOR",
    subcommands("list::list", "accept::accept", "remove::remove")
)]
#[expect(clippy::unused_async, reason = "poise awaits every command")]
pub(super) async fn servers(_: Context<'_>) -> Result<(), Refusal> {
    Ok(())
}
