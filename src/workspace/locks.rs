//! One writer at a time for each path of a workspace, across an agent's branches.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;

use crate::domain::AgentId;

/// How long a writer waits for another before its call fails with the name of the holder.
pub const TIMEOUT: Duration = Duration::from_secs(30);

type Key = (AgentId, String);

/// The locks of all workspaces. Cheap to clone.
#[derive(Clone, Debug)]
pub struct PathLocks {
    timeout: Duration,
    paths: Arc<Mutex<HashMap<Key, Arc<PathLock>>>>,
}

#[derive(Debug, Default)]
struct PathLock {
    turn: Arc<tokio::sync::Mutex<()>>,
    holder: Mutex<Option<(String, Instant)>>,
}

/// The right to write one path, until dropped.
#[derive(Debug)]
pub struct Held {
    locks: PathLocks,
    key: Key,
    lock: Arc<PathLock>,
    turn: Option<OwnedMutexGuard<()>>,
}

/// Another writer kept the path too long.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{path}` is being written by {holder}, for {} s now; wait for it to end and try again",
    held_for.as_secs()
)]
pub struct Busy {
    pub path: String,
    pub holder: String,
    pub held_for: Duration,
}

impl Default for PathLocks {
    fn default() -> Self {
        Self::new(TIMEOUT)
    }
}

impl PathLocks {
    /// Creates locks; writers wait for them up to `timeout`.
    pub fn new(timeout: Duration) -> Self {
        Self {
            timeout,
            paths: Arc::default(),
        }
    }

    /// Locks `path` of `agent` for writing; others see `holder` meanwhile.
    ///
    /// # Errors
    ///
    /// Fails if another writer keeps it for longer than the timeout.
    pub async fn hold(&self, agent: AgentId, path: &str, holder: String) -> Result<Held, Busy> {
        let key = (agent, path.to_owned());
        let lock = self.lock_of(&key);
        let turn = tokio::time::timeout(self.timeout, lock.turn.clone().lock_owned()).await;
        let mut held = Held {
            locks: self.clone(),
            key,
            lock,
            turn: None,
        };
        match turn {
            Ok(turn) => {
                held.turn = Some(turn);
                held.lock.name_holder(Some((holder, Instant::now())));
                Ok(held)
            }
            Err(_) => Err(held.lock.busy(path)),
        }
    }

    fn lock_of(&self, key: &Key) -> Arc<PathLock> {
        let mut paths = self.paths.lock();
        paths.entry(key.clone()).or_default().clone()
    }

    /// Removes the lock of `key` if this is its last user.
    fn forget(&self, key: &Key, lock: &Arc<PathLock>) {
        let mut paths = self.paths.lock();
        // That of the map and that of the caller; no other can be taken while the map is locked.
        if Arc::strong_count(lock) <= 2 {
            paths.remove(key);
        }
    }
}

impl PathLock {
    fn name_holder(&self, holder: Option<(String, Instant)>) {
        *self.holder.lock() = holder;
    }

    fn busy(&self, path: &str) -> Busy {
        let holder = self.holder.lock();
        let (holder, since) = holder
            .clone()
            .unwrap_or_else(|| ("another call".into(), Instant::now()));
        Busy {
            path: path.to_owned(),
            holder,
            held_for: since.elapsed(),
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.turn.take().is_some() {
            self.lock.name_holder(None);
        }
        self.locks.forget(&self.key, &self.lock);
    }
}
