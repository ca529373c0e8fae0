//! `/ping`: whether we are there, and how far away Discord is.

use std::time::Instant;

use super::call::{Context, Refusal, Visibility, responder};
use crate::discord::rest::body::Body;

/// Answers, and says how long the way to Discord is
#[poise::command(slash_command)]
pub(super) async fn ping(ctx: Context<'_>) -> Result<(), Refusal> {
    let responder = responder(ctx);
    let began = Instant::now();
    if responder
        .say(&Body::text("Pong!"), Visibility::Ephemeral)
        .await
        .is_ok()
    {
        let line = format!("Pong! {:.1} ms", began.elapsed().as_secs_f64() * 1_000.0);
        // The first answer stands without it.
        let _ = responder.edit_original(&Body::text(line)).await;
    }
    Ok(())
}
