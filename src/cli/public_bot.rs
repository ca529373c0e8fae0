//! Whether anybody may invite the bot, and how to turn that off.

use std::time::Duration;

use serde::Deserialize;

use super::discord_api::Api;
use super::looking;
use crate::config::{Env, Secret};

/// How to make a bot private. Discord refuses to while the application has an install link.
pub(super) const HOW_TO_CLOSE: &str = "to prevent that: https://discord.com/developers/applications, your application, Installation, set Install Link to None; then Bot, turn off Public Bot";

/// How long Discord may take; a home is made all the same.
const TIMEOUT: Duration = Duration::from_secs(5);

/// What Discord says of an application.
#[derive(Deserialize)]
pub(super) struct Application {
    #[serde(default)]
    pub(super) flags: u64,
    #[serde(default)]
    pub(super) bot_public: bool,
}

/// Tells whoever makes a home that anybody may invite their bot; nothing where that is not so or cannot be learned.
pub(super) fn warn_of_public(env: &Env, token: &Secret) -> anyhow::Result<()> {
    if looking::runtime()?.block_on(is_public(env, token)) == Some(true) {
        println!(
            "Anybody can invite this bot. It does nothing in servers that you do not accept; {HOW_TO_CLOSE}."
        );
    }
    Ok(())
}

async fn is_public(env: &Env, token: &Secret) -> Option<bool> {
    let api = Api::new(env, token, TIMEOUT).ok()?;
    let answer = api.get("applications/@me").await.ok()?;
    let answer = answer.error_for_status().ok()?;
    Some(answer.json::<Application>().await.ok()?.bot_public)
}
