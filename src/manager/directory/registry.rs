//! The index of agents in memory, small enough for ten thousand, and the actors of those at work.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use parking_lot::{Mutex, RwLock};
use tokio_util::task::TaskTracker;

use crate::agent::AgentHandle;
use crate::domain::{AgentId, AgentName, AgentStatus, ChannelId, GuildId};
use crate::llm::discovery::Choice;
use crate::store::AgentRow;

/// An agent with what lists and autocomplete need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentSummary {
    /// Key of all its rows.
    pub id: AgentId,
    pub name: AgentName,
    pub guild: GuildId,
    /// Its channel; `None` while it is being made or after it was lost.
    pub channel: Option<ChannelId>,
    /// The state of its life.
    pub status: AgentStatus,
}

/// An agent as `/agent list` shows it.
#[derive(Clone, Debug)]
pub struct AgentListing {
    pub row: AgentRow,
    /// Messages in its contexts and when somebody last wrote; `None` when it is idle.
    pub context: Option<(usize, DateTime<Utc>)>,
    pub busy: bool,
    /// Whether its folder exists and is its own: not that of another agent of the same name.
    pub has_files: bool,
    /// Whether its channel exists, as far as is known.
    pub has_channel: bool,
    /// What it asks first.
    pub model: Choice,
    /// What its profile permits, in words.
    pub allowed: String,
}

#[derive(Default)]
pub(crate) struct AgentRegistry {
    agents: RwLock<Index>,
    actors: Mutex<HashMap<AgentId, AgentHandle>>,
    /// The tasks of all actors, including those that are not found here any more.
    tasks: TaskTracker,
}

#[derive(Default)]
struct Index {
    by_id: HashMap<AgentId, AgentSummary>,
    by_channel: HashMap<ChannelId, AgentId>,
}

impl AgentRegistry {
    /// Adds the agents of all rows, except destroyed ones.
    pub(crate) fn put_all(&self, rows: Vec<AgentRow>) {
        for row in rows {
            if row.status != AgentStatus::Destroyed
                && let Ok(name) = AgentName::parse(&row.name)
            {
                self.put(AgentSummary {
                    id: row.id,
                    name,
                    guild: row.guild_id,
                    channel: row.channel_id,
                    status: row.status,
                });
            }
        }
    }

    /// Adds an agent, or replaces what was known about it.
    pub(crate) fn put(&self, agent: AgentSummary) {
        let mut index = self.agents.write();
        // Not a search of all channels: at the start this runs for each of ten thousand agents.
        let before = index.by_id.get(&agent.id).and_then(|known| known.channel);
        if let Some(channel) = before
            && index.by_channel.get(&channel) == Some(&agent.id)
        {
            index.by_channel.remove(&channel);
        }
        if let Some(channel) = agent.channel {
            index.by_channel.insert(channel, agent.id);
        }
        index.by_id.insert(agent.id, agent);
    }

    /// Forgets an agent.
    pub(crate) fn remove(&self, id: AgentId) {
        let mut index = self.agents.write();
        index.by_channel.retain(|_, known| *known != id);
        index.by_id.remove(&id);
        self.actors.lock().remove(&id);
    }

    /// The agent that lives in `channel`.
    pub(crate) fn in_channel(&self, channel: ChannelId) -> Option<AgentSummary> {
        let index = self.agents.read();
        index.by_id.get(index.by_channel.get(&channel)?).cloned()
    }

    pub(crate) fn get(&self, id: AgentId) -> Option<AgentSummary> {
        let index = self.agents.read();
        index.by_id.get(&id).cloned()
    }

    /// The agent with that name, in any server.
    pub(crate) fn named(&self, name: &str) -> Option<AgentSummary> {
        let index = self.agents.read();
        index
            .by_id
            .values()
            .find(|agent| agent.name.as_str() == name)
            .cloned()
    }

    /// The agents of a server, by name.
    pub(crate) fn all(&self) -> Vec<AgentSummary> {
        self.agents.read().by_id.values().cloned().collect()
    }

    /// The agents of a server, by name.
    pub(crate) fn of_guild(&self, guild: GuildId) -> Vec<AgentSummary> {
        let index = self.agents.read();
        let mut agents: Vec<AgentSummary> = index
            .by_id
            .values()
            .filter(|agent| agent.guild == guild)
            .cloned()
            .collect();
        agents.sort_by(|one, other| one.name.cmp(&other.name));
        agents
    }

    /// All servers with agents.
    pub(crate) fn guilds(&self) -> Vec<GuildId> {
        let index = self.agents.read();
        let mut guilds: Vec<GuildId> = index.by_id.values().map(|agent| agent.guild).collect();
        guilds.sort_unstable();
        guilds.dedup();
        guilds
    }

    /// The actor of an agent, made by `make` when there is none.
    pub(crate) fn actor(&self, id: AgentId, make: impl FnOnce() -> AgentHandle) -> AgentHandle {
        let mut actors = self.actors.lock();
        match actors.get(&id) {
            Some(handle) if !handle.is_closed() => handle.clone(),
            _ => {
                let handle = make();
                actors.insert(id, handle.clone());
                handle
            }
        }
    }

    /// Runs actors, and whatever else must end before the daemon does.
    pub(crate) fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    /// Waits until all actors have ended. None may be made any more.
    pub(crate) async fn actors_ended(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// The actor of an agent, if it has one.
    pub(crate) fn running(&self, id: AgentId) -> Option<AgentHandle> {
        let actors = self.actors.lock();
        actors
            .get(&id)
            .filter(|handle| !handle.is_closed())
            .cloned()
    }

    /// All actors, removed: none of them is found afterwards.
    pub(crate) fn take_actors(&self) -> Vec<AgentHandle> {
        let mut actors = self.actors.lock();
        actors.drain().map(|(_, handle)| handle).collect()
    }

    /// Forgets an agent's actor, so that the next message makes a new one.
    pub(crate) fn drop_actor(&self, id: AgentId) -> Option<AgentHandle> {
        self.actors.lock().remove(&id)
    }
}
