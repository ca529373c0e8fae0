//! `/ping`: whether the bot is up, how far away Discord is, and which version runs.

use std::time::Instant;

use super::call::{Context, Refusal, Visibility, bot, responder};
use crate::discord::render;
use crate::discord::rest::body::Body;

/// Check that the bot is up and show its latency
#[poise::command(category = "About", slash_command)]
pub(super) async fn ping(ctx: Context<'_>) -> Result<(), Refusal> {
    let responder = responder(ctx);
    let began = Instant::now();
    if responder
        .say(&Body::text("Pong!"), Visibility::Ephemeral)
        .await
        .is_ok()
    {
        let line = format!(
            "Pong! {:.1} ms\n-# {}",
            began.elapsed().as_secs_f64() * 1_000.0,
            render::about(bot(ctx).started)
        );
        // The first answer is valid without this edit.
        let _ = responder.edit_original(&Body::text(line)).await;
    }
    Ok(())
}
