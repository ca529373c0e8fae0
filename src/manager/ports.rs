//! What the manager needs of Discord; Discord's module implements it.

use std::time::Duration;

use async_trait::async_trait;

use crate::domain::{ChannelId, GuildId, MessageId};

use super::new_agent::Made;

/// What came of giving a channel another name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renamed {
    /// It has the name.
    Now,
    /// Discord wants it asked again after this time.
    After(Duration),
}

/// Channels as the lifecycle of agents needs them. Errors are sentences for people.
#[async_trait]
pub trait Channels: Send + Sync {
    /// Whether a channel could be made now: rights of the bot, room in the server.
    async fn can_create(&self, guild: GuildId) -> Result<(), String>;

    /// Makes a text channel in the category for agents, which is made when it is missing. Where that fails, no channel
    /// and no new category is left.
    async fn create(&self, guild: GuildId, name: &str, topic: &str) -> Result<ChannelId, String>;

    /// Deletes a channel; one that is gone already is fine.
    async fn delete(&self, channel: ChannelId) -> Result<(), String>;

    /// Gives a channel another name, without waiting for Discord's rate limit: two in ten minutes.
    async fn rename(&self, channel: ChannelId, name: &str) -> Result<Renamed, String>;

    /// Whether a channel is there, in this server.
    async fn exists(&self, guild: GuildId, channel: ChannelId) -> Result<bool, String>;

    /// A channel of that name in the categories for agents.
    async fn find(&self, guild: GuildId, name: &str) -> Result<Option<ChannelId>, String>;

    /// Posts the first message of a new agent's channel.
    async fn welcome(&self, channel: ChannelId, made: &Made) -> Result<(), String>;

    async fn newest_message(&self, channel: ChannelId) -> Result<Option<MessageId>, String>;
}
