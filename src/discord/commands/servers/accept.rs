//! `/servers accept`.

use super::super::call::{Context, answer, bot, person};
use super::super::complete;
use super::named::server_named;
use crate::discord::interaction::Visibility;
use crate::discord::refusal::Refusal;
use crate::discord::render;

/// Accept a server: from now on its members can use this bot
#[poise::command(slash_command, category = "operator")]
pub(super) async fn accept(
    ctx: Context<'_>,
    #[description = "The server: its id or name"]
    #[autocomplete = "complete::server_to_accept"]
    server: String,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let guild = server_named(ctx, &server)?;
        let row = bot(ctx)
            .manager
            .accept_server(guild, person(ctx).id)
            .await?;
        Ok(render::server_accepted(&row))
    })
    .await
}
