//! Child turns that work as another agent than that of their run: ending, renaming or destroying that agent ends them
//! first.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::{Stop, StopSignal, Stopper};
use crate::domain::AgentId;

/// Longest wait for them to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// Who ends them.
const CHANGED: Stopper = Stopper::Machine("a change of the agent that it worked as");

/// The child turns that work as another agent.
#[derive(Debug, Default)]
pub struct AtWorkElsewhere(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    agents: Mutex<Agents>,
    /// One of them ended.
    ended: Notify,
}

#[derive(Debug, Default)]
struct Agents {
    turns: HashMap<AgentId, Vec<(u64, StopSignal)>>,
    /// How many want nobody to work as an agent.
    closed: HashMap<AgentId, usize>,
}

/// Until this is dropped, a child turn that begins to work as the agent is aborted.
#[derive(Debug)]
pub struct NobodyElsewhere {
    shared: Arc<Shared>,
    agent: AgentId,
}

/// One of them, until this is dropped.
#[derive(Debug)]
pub(in crate::agent) struct AtWork {
    shared: Arc<Shared>,
    agent: AgentId,
    number: u64,
}

impl AtWorkElsewhere {
    /// Notes that a child turn begins to work as `agent`; `stop` ends it.
    pub(in crate::agent) fn begin(&self, agent: AgentId, stop: &StopSignal) -> AtWork {
        let mut agents = self.0.agents.lock();
        if agents.closed.contains_key(&agent) {
            stop.ask(Stop::Abort, &CHANGED);
        }
        let here = agents.turns.entry(agent).or_default();
        let number = here.last().map_or(0, |(last, _)| last + 1);
        here.push((number, stop.clone()));
        AtWork {
            shared: Arc::clone(&self.0),
            agent,
            number,
        }
    }

    /// Aborts all that work as `agent`, and waits until none does.
    pub async fn end(&self, agent: AgentId) -> NobodyElsewhere {
        *self.0.agents.lock().closed.entry(agent).or_default() += 1;
        let closed = NobodyElsewhere {
            shared: Arc::clone(&self.0),
            agent,
        };
        let ends = async {
            loop {
                let ended = self.0.ended.notified();
                match self.0.agents.lock().turns.get(&agent) {
                    None => return,
                    Some(here) => here
                        .iter()
                        .for_each(|(_, stop)| stop.ask(Stop::Abort, &CHANGED)),
                }
                ended.await;
            }
        };
        let _ = timeout(PATIENCE, ends).await;
        closed
    }
}

impl Drop for NobodyElsewhere {
    fn drop(&mut self) {
        let closed = &mut self.shared.agents.lock().closed;
        if let Some(count) = closed.get_mut(&self.agent) {
            *count -= 1;
            if *count == 0 {
                closed.remove(&self.agent);
            }
        }
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        let mut agents = self.shared.agents.lock();
        if let Some(here) = agents.turns.get_mut(&self.agent) {
            here.retain(|(number, _)| *number != self.number);
            if here.is_empty() {
                agents.turns.remove(&self.agent);
            }
        }
        drop(agents);
        self.shared.ended.notify_waiters();
    }
}
