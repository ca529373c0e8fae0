//! `/branch`: further conversations of the same agent, beside the main one.

mod history;
mod kill;
mod list;
mod new;

use super::call::Context;
use crate::discord::bot::Refusal;

/// Opens, lists and ends further conversations of this agent
#[poise::command(
    slash_command,
    guild_only,
    subcommand_required,
    subcommands("new::new", "list::list", "kill::kill", "history::history")
)]
#[expect(clippy::unused_async, reason = "poise awaits every command")]
pub(super) async fn branch(_: Context<'_>) -> Result<(), Refusal> {
    Ok(())
}
