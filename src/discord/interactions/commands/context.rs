//! `/context`: what the agent has in mind, saved, cleared, listed, restored, imported, compacted.

mod clear;
mod compact;
mod history;
mod import;
mod restore;
mod save;

use super::call::Context;
use crate::discord::bot::Refusal;

pub(super) use history::page as history_page;

/// Saves, clears, lists, restores and compacts what the agent has in mind
#[poise::command(
    slash_command,
    guild_only,
    subcommand_required,
    subcommands(
        "save::save",
        "clear::clear",
        "history::history",
        "restore::restore",
        "import::import",
        "compact::compact"
    )
)]
#[expect(clippy::unused_async, reason = "poise awaits every command")]
pub(super) async fn context(_: Context<'_>) -> Result<(), Refusal> {
    Ok(())
}
