//! `/settings`: what this server's administrators decide.

mod access;
mod approval_timeout;
mod approvers;
mod grants;
mod idle_timeout;
mod model;
mod permissions;
mod roles;
mod show;
mod validate_keys;

use serde_json::Value;

use super::{Context, Refusal, answer, bot, guild, person};
use crate::config::SettingKey;
use crate::discord::interaction::Eyes;
use crate::discord::render;

/// Shows and changes what holds for the agents of this server
#[poise::command(
    slash_command,
    guild_only,
    subcommand_required,
    default_member_permissions = "ADMINISTRATOR",
    subcommands(
        "model::model",
        "permissions::permissions",
        "show::show",
        "validate_keys::validate_keys",
        "idle_timeout::idle_timeout",
        "approval_timeout::approval_timeout",
        "grants::grants",
        "approvers::approvers",
        "access::access"
    )
)]
pub(super) async fn settings(_: Context<'_>) -> Result<(), Refusal> {
    Ok(())
}

/// Changes one setting and says so.
async fn set(ctx: Context<'_>, key: SettingKey, value: String) -> Result<(), Refusal> {
    answer(ctx, Eyes::One, async move {
        let meant = key.read(&value).map_err(Refusal)?;
        store(ctx, key, meant).await?;
        Ok(render::setting_changed(key, &value))
    })
    .await
}

async fn store(ctx: Context<'_>, key: SettingKey, value: Value) -> Result<(), Refusal> {
    let manager = &bot(ctx).manager;
    Ok(manager
        .set_setting(guild(ctx)?, key, Some(value), &person(ctx))
        .await?)
}
