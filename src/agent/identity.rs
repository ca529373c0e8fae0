//! Who an agent is while its actor lives.

use std::sync::{Arc, Mutex};

use crate::domain::{AgentConfig, AgentId, AgentName, ChannelId, GuildId};
use crate::workspace::agent_file::Version;

use super::idle_timer::IdleTimer;

/// Who an agent is while its actor lives. A rename makes a new actor.
pub struct Identity {
    /// Key of all its rows.
    pub id: AgentId,
    /// Its name.
    pub name: AgentName,
    /// Its server.
    pub guild: GuildId,
    /// Its channel.
    pub channel: ChannelId,
    /// Measures how long it has been left alone.
    pub(super) timer: IdleTimer,
    /// Its `agent.json` as last read.
    pub(super) file: Mutex<LastRead>,
}

/// An `agent.json` as last read.
#[derive(Default)]
pub(super) struct LastRead {
    pub(super) version: Option<Version>,
    pub(super) good: Option<Arc<AgentConfig>>,
    pub(super) told: Option<String>,
}
