//! The server that an option names.

use super::super::call::{Context, answer, bot};
use crate::discord::bot::Refusal;
use crate::discord::interactions::Visibility;
use crate::discord::rest::body::Body;
use crate::domain::GuildId;

/// Answers a command about the server that `text` names with what `work` gives for it, for the one who asked alone.
pub(super) async fn answer_about<F>(
    ctx: Context<'_>,
    text: &str,
    work: impl FnOnce(GuildId) -> F + Send,
) -> Result<(), Refusal>
where
    F: Future<Output = Result<Body, Refusal>> + Send,
{
    let work = async { work(server_named(ctx, text)?).await };
    answer(ctx, Visibility::Ephemeral, work).await
}

/// The server with this id, or the only one with this name.
fn server_named(ctx: Context<'_>, text: &str) -> Result<GuildId, Refusal> {
    let text = text.trim();
    let rows = bot(ctx).manager.servers();
    let id = text.parse::<GuildId>().ok();
    if let Some(row) = rows.iter().find(|row| Some(row.guild) == id) {
        return Ok(row.guild);
    }
    let mut named = rows.iter().filter(|row| row.name == text);
    match (named.next(), named.next()) {
        (Some(row), None) => Ok(row.guild),
        (Some(_), Some(_)) => Err(Refusal::new(
            "Several servers have this name. Write the server's id; `/servers list` shows it.",
        )),
        (None, _) => Err(Refusal::new(
            "I know no such server. Write its id or choose one that is suggested; `/servers list` shows them all.",
        )),
    }
}
