//! `/servers remove`.

use super::super::call::{Context, answer, bot, person};
use super::super::complete;
use super::named::server_named;
use crate::discord::interaction::Visibility;
use crate::discord::refusal::Refusal;
use crate::discord::render;
use crate::discord::servers;

/// Take the acceptance of a server back: this bot does nothing there any more
#[poise::command(slash_command, category = "operator")]
pub(super) async fn remove(
    ctx: Context<'_>,
    #[description = "The server: its id or name"]
    #[autocomplete = "complete::server_accepted"]
    server: String,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let guild = server_named(ctx, &server)?;
        let row = bot(ctx)
            .manager
            .remove_server(guild, person(ctx).id)
            .await?;
        Ok(render::server_removed(&row).row(servers::buttons(guild)))
    })
    .await
}
