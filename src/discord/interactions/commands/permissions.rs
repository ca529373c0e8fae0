//! `/permissions`: all profiles, with the actions that they allow, ask about and deny.

use super::call::{Context, Refusal, Visibility, answer, bot, guild};
use crate::discord::render;

/// Show the permission profiles: what each allows, asks and denies
#[poise::command(category = "Agents", slash_command, guild_only)]
pub(super) async fn permissions(ctx: Context<'_>) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let bot = bot(ctx);
        let server = bot.manager.settings.server(guild(ctx)?);
        Ok(render::profiles(
            &bot.profiles.load(),
            &server.default_permissions,
        ))
    })
    .await
}
