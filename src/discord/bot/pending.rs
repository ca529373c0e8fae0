//! Agents that are not made yet because a model or a profile must be chosen first. They are kept in memory only.

use std::collections::VecDeque;

use parking_lot::Mutex;

use crate::manager::NewAgent;

/// Most agents that wait; the oldest is dropped first. People choose from a menu within minutes or never.
const MOST: usize = 32;

/// Agents that are not made yet, by the interaction that asked for them.
#[derive(Debug, Default)]
pub(in crate::discord) struct Pending(Mutex<VecDeque<(u64, NewAgent)>>);

impl Pending {
    pub(in crate::discord) fn keep(&self, id: u64, new: NewAgent) {
        let mut waiting = self.0.lock();
        waiting.retain(|(other, _)| *other != id);
        if waiting.len() >= MOST {
            waiting.pop_front();
        }
        waiting.push_back((id, new));
    }

    pub(in crate::discord) fn take(&self, id: u64) -> Option<NewAgent> {
        let mut waiting = self.0.lock();
        let at = waiting.iter().position(|(other, _)| *other == id)?;
        waiting.remove(at).map(|(_, new)| new)
    }
}
