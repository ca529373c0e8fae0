//! What the manager needs of Discord; Discord's room implements it.

use async_trait::async_trait;

use crate::domain::{ChannelId, GuildId};

use super::new_agent::Made;

/// Channels as the lifecycle of agents needs them. Errors are sentences for people.
#[async_trait]
pub trait Channels: Send + Sync {
    /// Whether a channel could be made now: rights of the bot, room in the server.
    async fn can_create(&self, guild: GuildId) -> Result<(), String>;

    /// Makes a text channel in the category for agents, which is made when it is missing.
    async fn create(&self, guild: GuildId, name: &str, topic: &str) -> Result<ChannelId, String>;

    /// Deletes a channel; one that is gone already is fine.
    async fn delete(&self, channel: ChannelId) -> Result<(), String>;

    /// Gives a channel another name.
    async fn rename(&self, channel: ChannelId, name: &str) -> Result<(), String>;

    /// Whether a channel is there.
    async fn exists(&self, guild: GuildId, channel: ChannelId) -> Result<bool, String>;

    /// A channel of that name in the categories for agents.
    async fn find(&self, guild: GuildId, name: &str) -> Result<Option<ChannelId>, String>;

    /// Posts the first message of a new agent's channel.
    async fn welcome(&self, channel: ChannelId, made: &Made) -> Result<(), String>;
}
