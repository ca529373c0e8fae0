//! The bot's application at Discord: its permissions, its servers, and its invitation address.

use std::time::Duration;

use reqwest::StatusCode;
use serde::Deserialize;

use super::discord_api::Api;
use crate::config::{Env, Secret};
use crate::llm;

/// How to make a bot private. Discord refuses that while the application has an install link.
pub(super) const HOW_TO_CLOSE: &str = "to prevent that: https://discord.com/developers/applications, your application, Installation, set Install Link to None; then Bot, turn off Public Bot";

/// Flags of an application that may read the content of messages: approved, or granted because the bot is in few servers.
const MESSAGE_CONTENT: u64 = (1 << 18) | (1 << 19);

/// The permissions that the bot needs in a server, by their bit.
const NEEDED: [(u64, &str); 10] = [
    (1 << 4, "Manage Channels"),
    (1 << 6, "Add Reactions"),
    (1 << 10, "View Channels"),
    (1 << 11, "Send Messages"),
    (1 << 13, "Manage Messages"),
    (1 << 14, "Embed Links"),
    (1 << 15, "Attach Files"),
    (1 << 16, "Read Message History"),
    (1 << 35, "Create Public Threads"),
    (1 << 38, "Send Messages in Threads"),
];
const ADMINISTRATOR: u64 = 1 << 3;

/// Longest time for an answer from Discord.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);

/// Discord's description of an application.
#[derive(Deserialize)]
pub(super) struct Application {
    pub(super) id: String,
    #[serde(default)]
    flags: u64,
    #[serde(default)]
    pub(super) bot_public: bool,
}

impl Application {
    pub(super) fn may_read_messages(&self) -> bool {
        self.flags & MESSAGE_CONTENT != 0
    }

    /// Returns the address that adds the bot to a server, with the permissions it needs.
    pub(super) fn invite(&self) -> String {
        let permissions: u64 = NEEDED.iter().map(|(bit, _)| bit).sum();
        let id = &self.id;
        format!(
            "https://discord.com/oauth2/authorize?client_id={id}&scope=bot+applications.commands&permissions={permissions}"
        )
    }

    /// Returns the page with the bot's token and intents.
    pub(super) fn page(&self) -> String {
        format!(
            "https://discord.com/developers/applications/{}/bot",
            self.id
        )
    }
}

/// A server that the bot is in.
#[derive(Deserialize)]
pub(super) struct Server {
    pub(super) name: String,
    permissions: String,
}

impl Server {
    /// Returns the permissions that the bot needs there and does not have.
    pub(super) fn missing(&self) -> Vec<&'static str> {
        let held: u64 = self.permissions.parse().unwrap_or(0);
        let missing = NEEDED
            .iter()
            .filter(|(bit, _)| held & ADMINISTRATOR == 0 && held & bit == 0);
        missing.map(|(_, name)| *name).collect()
    }
}

#[derive(Deserialize)]
struct User {
    username: String,
}

/// Why Discord did not answer a question.
#[derive(Debug, thiserror::Error)]
pub(super) enum DiscordError {
    #[error("Discord refuses DISCORD_TOKEN")]
    Refused,
    #[error("Discord answers {0}")]
    Answered(StatusCode),
    /// The connection failed, for this reason.
    #[error("Discord {0}")]
    Unreachable(String),
}

impl From<reqwest::Error> for DiscordError {
    fn from(error: reqwest::Error) -> Self {
        Self::Unreachable(llm::of_connection_in_words(&error))
    }
}

/// Returns the name of the bot with this token.
pub(super) async fn bot_name(env: &Env, token: &Secret) -> Result<String, DiscordError> {
    let user: User = read(env, token, "users/@me").await?;
    Ok(user.username)
}

pub(super) async fn application(env: &Env, token: &Secret) -> Result<Application, DiscordError> {
    read(env, token, "applications/@me").await
}

/// Returns the servers that the bot is in.
pub(super) async fn servers(env: &Env, token: &Secret) -> Result<Vec<Server>, DiscordError> {
    read(env, token, "users/@me/guilds").await
}

async fn read<T: serde::de::DeserializeOwned>(
    env: &Env,
    token: &Secret,
    path: &str,
) -> Result<T, DiscordError> {
    let response = Api::new(env, token, TIMEOUT)?.get(path).await?;
    match response.status() {
        StatusCode::OK => Ok(response.json().await?),
        StatusCode::UNAUTHORIZED => Err(DiscordError::Refused),
        status => Err(DiscordError::Answered(status)),
    }
}
