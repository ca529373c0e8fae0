//! Who an agent is while its actor lives.

use crate::agent::idle_timer::IdleTimer;
use crate::domain::{AgentId, AgentName, ChannelId, GuildId};

/// A rename makes a new actor, so this never changes.
#[derive(Debug)]
pub struct Identity {
    /// Key of all its rows.
    pub id: AgentId,
    pub name: AgentName,
    pub guild: GuildId,
    pub channel: ChannelId,
    /// Measures its silence.
    pub(in crate::agent) timer: IdleTimer,
}

impl Identity {
    /// An agent seen from outside its actor, which measures its silence.
    pub fn elsewhere(id: AgentId, name: AgentName, guild: GuildId, channel: ChannelId) -> Self {
        Self {
            id,
            name,
            guild,
            channel,
            timer: IdleTimer::new(None),
        }
    }
}
