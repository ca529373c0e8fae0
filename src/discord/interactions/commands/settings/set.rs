//! A setting changed, whichever it is.

use serde_json::Value;

use super::super::call::{Context, answer, bot, guild, person};
use crate::config::SettingKey;
use crate::discord::bot::Refusal;
use crate::discord::interactions::Visibility;
use crate::discord::render;

/// Changes one setting and says so.
pub(super) async fn set(ctx: Context<'_>, key: SettingKey, value: String) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async move {
        let meant = key.read(&value).map_err(Refusal)?;
        store(ctx, key, meant).await?;
        Ok(render::setting_changed(key, &value))
    })
    .await
}

/// Stores a setting of this server.
pub(super) async fn store(ctx: Context<'_>, key: SettingKey, value: Value) -> Result<(), Refusal> {
    let manager = &bot(ctx).manager;
    Ok(manager
        .set_setting(guild(ctx)?, key, Some(value), &person(ctx))
        .await?)
}
