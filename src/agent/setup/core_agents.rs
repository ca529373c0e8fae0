//! The agents whose requests go first, and which are made ready before anybody writes.

use std::collections::BTreeSet;

use parking_lot::Mutex;

use crate::domain::AgentId;

/// Most agents that go first: where all do, none does.
pub const MOST_CORE_AGENTS: usize = 50;

/// The agents with `core: true`, the first that were read, at most [`MOST_CORE_AGENTS`].
#[derive(Debug, Default)]
pub struct CoreAgents(Mutex<BTreeSet<AgentId>>);

impl CoreAgents {
    /// Notes what an agent's configuration says.
    pub(in crate::agent) fn note(&self, agent: AgentId, is_core: bool) {
        let mut all = self.0.lock();
        if !is_core {
            all.remove(&agent);
        } else if all.len() < MOST_CORE_AGENTS {
            all.insert(agent);
        }
    }

    /// Whether it is one of them.
    pub fn has(&self, agent: AgentId) -> bool {
        self.0.lock().contains(&agent)
    }

    /// Makes room for another agent: this one is destroyed.
    pub fn forget(&self, agent: AgentId) {
        self.note(agent, false);
    }
}
