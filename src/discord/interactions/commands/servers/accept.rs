//! `/servers accept`.

use super::super::call::{Context, bot, person};
use super::super::complete;
use super::named::answer_about;
use crate::discord::bot::Refusal;
use crate::discord::render;

/// Accept a server: from now on its members can use this bot
#[poise::command(slash_command, category = "operator")]
pub(super) async fn accept(
    ctx: Context<'_>,
    #[description = "The server: its id or name"]
    #[autocomplete = "complete::server_to_accept"]
    server: String,
) -> Result<(), Refusal> {
    answer_about(ctx, &server, |guild| async move {
        let manager = &bot(ctx).manager;
        let row = manager.accept_server(guild, person(ctx).id).await?;
        Ok(render::server_accepted(&row))
    })
    .await
}
