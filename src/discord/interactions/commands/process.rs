//! `/process`: long-running commands of the agent.

mod kill;
mod list;
mod logs;

use super::call::Context;
use crate::discord::bot::Refusal;

/// Lists, ends and reads the long-running commands of this agent
#[poise::command(
    slash_command,
    guild_only,
    subcommand_required,
    subcommands("list::list", "kill::kill", "logs::logs")
)]
#[expect(clippy::unused_async, reason = "poise awaits every command")]
pub(super) async fn process(_: Context<'_>) -> Result<(), Refusal> {
    Ok(())
}
