//! Child turns that work as another agent than that of their run: ending, renaming or destroying that agent ends them
//! first.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::domain::AgentId;

use super::stop::{Stop, StopSignal, Stopper};

/// Longest wait for them to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// The child turns that work as another agent.
#[derive(Debug, Default)]
pub struct AtWorkElsewhere(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    turns: Mutex<HashMap<AgentId, Vec<(u64, StopSignal)>>>,
    /// One of them ended.
    ended: Notify,
}

/// One of them, until this is dropped.
#[derive(Debug)]
pub(super) struct AtWork {
    shared: Arc<Shared>,
    agent: AgentId,
    number: u64,
}

impl AtWorkElsewhere {
    /// Notes that a child turn begins to work as `agent`; `stop` ends it.
    pub(super) fn begin(&self, agent: AgentId, stop: &StopSignal) -> AtWork {
        let mut turns = self.0.turns.lock();
        let here = turns.entry(agent).or_default();
        let number = here.last().map_or(0, |(last, _)| last + 1);
        here.push((number, stop.clone()));
        AtWork {
            shared: Arc::clone(&self.0),
            agent,
            number,
        }
    }

    /// Aborts all that work as `agent`, and waits until they have ended.
    pub async fn end(&self, agent: AgentId) {
        let by = Stopper::Machine("a change of the agent that it worked as");
        let is_over = || !self.0.turns.lock().contains_key(&agent);
        let ends = async {
            loop {
                let ended = self.0.ended.notified();
                if let Some(here) = self.0.turns.lock().get(&agent) {
                    for (_, stop) in here {
                        stop.ask(Stop::Abort, &by);
                    }
                }
                if is_over() {
                    return;
                }
                ended.await;
            }
        };
        let _ = timeout(PATIENCE, ends).await;
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        let mut turns = self.shared.turns.lock();
        if let Some(here) = turns.get_mut(&self.agent) {
            here.retain(|(number, _)| *number != self.number);
            if here.is_empty() {
                turns.remove(&self.agent);
            }
        }
        drop(turns);
        self.shared.ended.notify_waiters();
    }
}
