//! Discord's API for subcommands: one try, with a short timeout, and the answer with its headers.

use std::time::Duration;

use reqwest::{Client, Response};

use crate::config::{Env, Secret};
use crate::discord::rest::DISCORD;

/// The API, with a bot's token.
pub(super) struct Api<'a> {
    client: Client,
    pub(super) base: &'a str,
    token: &'a Secret,
}

impl<'a> Api<'a> {
    /// The API that the environment names, or Discord's own; each request may take `timeout`.
    pub(super) fn new(env: &'a Env, token: &'a Secret, timeout: Duration) -> reqwest::Result<Self> {
        Ok(Self {
            client: Client::builder().timeout(timeout).build()?,
            base: env.discord_api_url.as_deref().unwrap_or(DISCORD),
            token,
        })
    }

    /// Reads what is at `path`, below `/api/v10/`.
    pub(super) async fn get(&self, path: &str) -> reqwest::Result<Response> {
        self.client
            .get(format!("{}/api/v10/{path}", self.base))
            .header("authorization", format!("Bot {}", self.token.expose()))
            .send()
            .await
    }
}
