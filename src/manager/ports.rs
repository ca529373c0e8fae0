//! What the manager needs from Discord; the module `discord` implements it.

use std::time::Duration;

use async_trait::async_trait;

use crate::domain::{ChannelId, GuildId, MessageId};
use crate::manager::lifecycle::new_agent::Made;

/// Threads below the channels of agents.
#[async_trait]
pub trait Threads: Send + Sync {
    /// Opens a thread that all who see the channel can see.
    async fn open_thread(&self, below: ChannelId, name: &str) -> Result<ChannelId, ChannelError>;
}

/// The outcome of renaming a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renamed {
    /// It has the name.
    Now,
    /// Discord wants to be asked again after this time.
    After(Duration),
}

/// Why Discord did not do what an agent needs: a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ChannelError(pub String);

/// Channels as the lifecycle of agents needs them.
#[async_trait]
pub trait Channels: Send + Sync {
    /// Whether a channel could be made now: rights of the bot, room in the server.
    async fn can_create(&self, guild: GuildId) -> Result<(), ChannelError>;

    /// Makes a text channel in the category for agents, which is made when it is missing. Where that fails, no channel
    /// and no new category is left.
    async fn create(
        &self,
        guild: GuildId,
        name: &str,
        topic: &str,
    ) -> Result<ChannelId, ChannelError>;

    /// Deletes a channel; a missing one is no error.
    async fn delete(&self, channel: ChannelId) -> Result<(), ChannelError>;

    /// Renames a channel, without waiting for Discord's rate limit: two renames in ten minutes.
    async fn rename(&self, channel: ChannelId, name: &str) -> Result<Renamed, ChannelError>;

    /// Whether a channel exists in this server.
    async fn exists(&self, guild: GuildId, channel: ChannelId) -> Result<bool, ChannelError>;

    /// A channel of that name in the categories for agents.
    async fn find(&self, guild: GuildId, name: &str) -> Result<Option<ChannelId>, ChannelError>;

    /// Posts the first message of a new agent's channel.
    async fn welcome(&self, channel: ChannelId, made: &Made) -> Result<(), ChannelError>;

    async fn newest_message(&self, channel: ChannelId) -> Result<Option<MessageId>, ChannelError>;
}
