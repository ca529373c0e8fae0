//! Who an agent is while its actor lives.

use crate::domain::{AgentId, AgentName, ChannelId, GuildId};

use super::idle_timer::IdleTimer;

/// Who an agent is while its actor lives. A rename makes a new actor.
#[derive(Debug)]
pub struct Identity {
    /// Key of all its rows.
    pub id: AgentId,
    pub name: AgentName,
    pub guild: GuildId,
    pub channel: ChannelId,
    /// Measures how long it has been left alone.
    pub(super) timer: IdleTimer,
}

impl Identity {
    /// An agent that another one has work for it; how long it has been left alone is measured where it lives.
    pub(super) fn elsewhere(
        id: AgentId,
        name: AgentName,
        guild: GuildId,
        channel: ChannelId,
    ) -> Self {
        Self {
            id,
            name,
            guild,
            channel,
            timer: IdleTimer::new(None),
        }
    }
}
