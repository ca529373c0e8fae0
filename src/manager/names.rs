//! Keeps operations on one agent as a whole apart: two creations, destructions, renames or repairs of one name must not run
//! at the same time, and no message may reach an agent while its folder moves.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, Notify, OwnedMutexGuard};

use crate::domain::AgentId;

/// A lock for each name. Discord may delay one creation for minutes, which must not delay others.
#[derive(Default)]
pub(crate) struct NameLocks(Mutex<HashMap<String, Weak<AsyncMutex<()>>>>);

impl NameLocks {
    /// Waits until no other task holds this name.
    pub(crate) async fn lock(&self, name: &str) -> OwnedMutexGuard<()> {
        let lock = {
            let mut locks = self.0.lock();
            locks.retain(|_, lock| lock.strong_count() > 0);
            let known = locks.get(name).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                let lock = Arc::new(AsyncMutex::new(()));
                locks.insert(name.to_owned(), Arc::downgrade(&lock));
                lock
            })
        };
        lock.lock_owned().await
    }

    /// Waits for two names, in a fixed order, so that no two tasks wait for each other.
    pub(crate) async fn lock_both(
        &self,
        one: &str,
        other: &str,
    ) -> (OwnedMutexGuard<()>, Option<OwnedMutexGuard<()>>) {
        if one == other {
            (self.lock(one).await, None)
        } else {
            let first = self.lock(one.min(other)).await;
            (first, Some(self.lock(one.max(other)).await))
        }
    }
}

/// Agents whose channel is being renamed, each by one task.
#[derive(Default)]
pub(crate) struct Renaming(Mutex<HashSet<AgentId>>);

/// The task that renames an agent's channel.
pub(crate) struct Renames<'a> {
    of: &'a Renaming,
    agent: AgentId,
}

impl Renaming {
    /// Begins a rename; `None` while another task does one.
    pub(crate) fn begin(&self, agent: AgentId) -> Option<Renames<'_>> {
        let is_new = self.agents(|agents| agents.insert(agent));
        is_new.then_some(Renames { of: self, agent })
    }

    fn agents<T>(&self, use_them: impl FnOnce(&mut HashSet<AgentId>) -> T) -> T {
        use_them(&mut self.0.lock())
    }
}

impl Drop for Renames<'_> {
    fn drop(&mut self) {
        self.of.agents(|agents| agents.remove(&self.agent));
    }
}

/// Agents to which nothing is delivered for a moment.
#[derive(Default)]
pub(crate) struct Gate {
    closed: Mutex<HashSet<AgentId>>,
    opened: Notify,
}

/// Keeps an agent's gate closed until it is dropped.
pub(crate) struct Closed<'a> {
    gate: &'a Gate,
    agent: AgentId,
}

impl Gate {
    /// Closes the gate of an agent; only the holder of its name may.
    pub(crate) fn close(&self, agent: AgentId) -> Closed<'_> {
        self.agents(|closed| closed.insert(agent));
        Closed { gate: self, agent }
    }

    /// Waits until the gate of an agent is open.
    pub(crate) async fn passes(&self, agent: AgentId) {
        loop {
            let opened = self.opened.notified();
            tokio::pin!(opened);
            // Before the check, so that an opening in between is not missed.
            opened.as_mut().enable();
            if !self.agents(|closed| closed.contains(&agent)) {
                return;
            }
            opened.await;
        }
    }

    fn agents<T>(&self, use_them: impl FnOnce(&mut HashSet<AgentId>) -> T) -> T {
        use_them(&mut self.closed.lock())
    }
}

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.gate.agents(|closed| closed.remove(&self.agent));
        self.gate.opened.notify_waiters();
    }
}
