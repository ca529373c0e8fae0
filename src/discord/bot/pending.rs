//! Requests that wait for a choice or a confirmation by their author. They are kept only in memory: nothing is stored
//! before that.

use std::collections::VecDeque;

use parking_lot::Mutex;

/// Most waiting requests; the oldest is dropped first. People choose within minutes or never.
const MOST: usize = 32;

/// Waiting requests, by the interaction that started them.
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
