//! A value given as an option or as an attached text file.

use serenity::all::Attachment;

use crate::discord::bot::Refusal;
use crate::text;

/// Bytes of a text file that sets a value.
const MAX_FILE: u32 = 64 * 1024;

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
pub(super) async fn text_or_file(
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
