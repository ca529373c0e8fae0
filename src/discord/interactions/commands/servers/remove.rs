//! `/servers remove`.

use super::super::call::{Context, bot, person};
use super::super::complete;
use super::named::answer_about;
use crate::discord::bot::Refusal;
use crate::discord::bot::servers;
use crate::discord::render;

/// Take the acceptance of a server back: this bot does nothing there any more
#[poise::command(slash_command, category = "operator")]
pub(super) async fn remove(
    ctx: Context<'_>,
    #[description = "The server: its id or name"]
    #[autocomplete = "complete::server_accepted"]
    server: String,
) -> Result<(), Refusal> {
    answer_about(ctx, &server, |guild| async move {
        let manager = &bot(ctx).manager;
        let row = manager.remove_server(guild, person(ctx).id).await?;
        Ok(render::server_removed(&row).row(servers::buttons(guild)))
    })
    .await
}
