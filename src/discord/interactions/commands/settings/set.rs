//! A setting changed, whichever it is.

use serde_json::Value;

use super::super::call::{Context, answer, bot, guild, person};
use crate::config::{Key, is_default};
use crate::discord::bot::Refusal;
use crate::discord::interactions::Visibility;
use crate::discord::render;
use crate::text::escape;

/// Changes one setting, or takes it back, and says so.
pub(super) async fn set(ctx: Context<'_>, key: &'static Key, text: String) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async move {
        if is_default(&text) {
            store(ctx, key, None).await?;
            return Ok(render::setting_changed(key, "default"));
        }
        let value = key
            .kind
            .read(&text)
            .map_err(|bad| Refusal(format!("{} cannot be `{key}`. {bad}", escape::code(&text))))?;
        store(ctx, key, Some(value)).await?;
        Ok(render::setting_changed(key, &text))
    })
    .await
}

/// Stores a setting of this server; none takes it back.
pub(super) async fn store(
    ctx: Context<'_>,
    key: &Key,
    value: Option<Value>,
) -> Result<(), Refusal> {
    let manager = &bot(ctx).manager;
    Ok(manager
        .set_setting(guild(ctx)?, key, value, &person(ctx))
        .await?)
}
