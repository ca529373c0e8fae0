//! What waits for a choice or a confirmation of the person who asked for it. It is kept in memory only: nothing is stored
//! before that.

use std::collections::VecDeque;

use parking_lot::Mutex;

/// Most that wait; the oldest is dropped first. People choose within minutes or never.
const MOST: usize = 32;

/// What waits, by the interaction that asked for it.
#[derive(Debug)]
pub(in crate::discord) struct Pending<T>(Mutex<VecDeque<(u64, T)>>);

impl<T> Default for Pending<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Pending<T> {
    pub(in crate::discord) fn keep(&self, id: u64, new: T) {
        let mut waiting = self.0.lock();
        waiting.retain(|(other, _)| *other != id);
        if waiting.len() >= MOST {
            waiting.pop_front();
        }
        waiting.push_back((id, new));
    }

    pub(in crate::discord) fn take(&self, id: u64) -> Option<T> {
        let mut waiting = self.0.lock();
        let at = waiting.iter().position(|(other, _)| *other == id)?;
        waiting.remove(at).map(|(_, new)| new)
    }
}
