//! `/agent`: made, listed, changed, destroyed, repaired.

mod config;
mod destroy;
mod init;
mod list;
mod repair;

use serenity::all::Attachment;

use super::{Context, Refusal};
use crate::text;

pub(in crate::discord) use config::{
    EDIT_PROMPT, open_form as open_prompt, submit as submit_prompt,
};
pub(in crate::discord) use destroy::confirm as confirm_destroy;
pub(super) use list::page as list_page;

/// Bytes of a text file that sets a value.
const MAX_FILE: u32 = 64 * 1024;

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
pub(super) async fn agent(_: Context<'_>) -> Result<(), Refusal> {
    Ok(())
}

/// The text of an attached file.
async fn read_text(file: &Attachment) -> Result<String, Refusal> {
    if file.size > MAX_FILE {
        return Err(Refusal(format!(
            "The file has {}; a text of at most {} is read.",
            text::bytes(u64::from(file.size)),
            text::bytes(u64::from(MAX_FILE))
        )));
    }
    let bytes = file
        .download()
        .await
        .map_err(|_| Refusal::new("The file could not be fetched from Discord. Try again."))?;
    String::from_utf8(bytes).map_err(|_| Refusal::new("The file is not text in UTF-8."))
}

/// One of an option and a file, not both.
async fn text_or_file(
    option: Option<String>,
    file: Option<Attachment>,
    what: &str,
) -> Result<Option<String>, Refusal> {
    match (option, file) {
        (Some(_), Some(_)) => Err(Refusal(format!(
            "Give either `{what}` or `file`, not both."
        ))),
        (Some(text), None) => Ok(Some(text)),
        (None, Some(file)) => read_text(&file).await.map(Some),
        (None, None) => Ok(None),
    }
}
