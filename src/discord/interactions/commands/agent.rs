//! `/agent`: made, listed, changed, destroyed, repaired.

mod config;
mod destroy;
mod init;
mod list;
mod repair;
mod text_option;

use super::call::Context;
use crate::discord::bot::Refusal;

pub(in crate::discord) use config::{
    EDIT_PROMPT, open_form as open_prompt, submit as submit_prompt, take_back,
};
pub(in crate::discord) use destroy::confirmed as confirm_destroy;
pub(super) use list::page as list_page;
pub(in crate::discord) use repair::confirmed as confirm_repair;

/// Makes, lists, changes and destroys agents
#[poise::command(
    slash_command,
    guild_only,
    subcommand_required,
    subcommands(
        "init::init",
        "list::list",
        "config::config",
        "destroy::destroy",
        "repair::repair"
    )
)]
#[expect(clippy::unused_async, reason = "poise awaits every command")]
pub(super) async fn agent(_: Context<'_>) -> Result<(), Refusal> {
    Ok(())
}
