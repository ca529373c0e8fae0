//! Runs of schedules that are with their agents, and the bell that has due runs looked for again.
//!
//! A run that was handed to its agent is `due` in the ledger until its turn begins (S2). Meanwhile nobody else must hand it over.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::store::SlotKey;

/// How long a run waits that its agent gave back.
const AGAIN_AFTER: Duration = Duration::from_secs(10);

/// The daemon's. Clones share their state.
#[derive(Clone, Debug, Default)]
pub struct PlannedRuns(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    handed: Mutex<HashMap<SlotKey, Handed>>,
    changed: Notify,
}

#[derive(Clone, Copy, Debug)]
enum Handed {
    WithAgent,
    /// It was given back, and may be handed over from then on.
    From(Instant),
}

/// A run that is with its agent. Dropping it gives the run back.
#[derive(Debug)]
pub struct HandedRun {
    runs: PlannedRuns,
    key: SlotKey,
    is_settled: bool,
}

impl PlannedRuns {
    /// Hands a run over, unless it is with its agent or was given back a moment ago.
    pub fn hand_over(&self, key: SlotKey) -> Option<HandedRun> {
        let mut handed = self.0.handed.lock();
        let is_free = match handed.get(&key) {
            None => true,
            Some(Handed::WithAgent) => false,
            Some(Handed::From(at)) => *at <= Instant::now(),
        };
        is_free.then(|| {
            handed.insert(key, Handed::WithAgent);
            HandedRun {
                runs: self.clone(),
                key,
                is_settled: false,
            }
        })
    }

    /// Returns how long until the first run that was given back may be handed over again.
    pub fn next_try(&self) -> Option<Duration> {
        let mut handed = self.0.handed.lock();
        let now = Instant::now();
        // Those whose time has come were just looked for.
        handed.retain(|_, one| !matches!(one, Handed::From(at) if *at <= now));
        let times = handed.values().filter_map(|handed| match handed {
            Handed::From(at) => Some(at.saturating_duration_since(now)),
            Handed::WithAgent => None,
        });
        times.min()
    }

    /// Has due runs looked for again: a run has ended, or a schedule has changed.
    pub fn ring(&self) {
        self.0.changed.notify_one();
    }

    /// Waits until [`Self::ring`] is called.
    pub async fn rings(&self) {
        self.0.changed.notified().await;
    }
}

impl HandedRun {
    /// The ledger says what became of the run.
    pub fn settled(mut self) {
        self.is_settled = true;
    }
}

impl Drop for HandedRun {
    fn drop(&mut self) {
        {
            let mut handed = self.runs.0.handed.lock();
            if self.is_settled {
                handed.remove(&self.key);
            } else {
                handed.insert(self.key, Handed::From(Instant::now() + AGAIN_AFTER));
            }
        }
        self.runs.ring();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_run_is_with_one_turn_and_waits_after_it_was_given_back() {
        let runs = PlannedRuns::default();
        let key = SlotKey {
            schedule: 1,
            slot: crate::clock::now(),
        };
        let handed = runs.hand_over(key).unwrap();
        assert!(runs.hand_over(key).is_none());
        assert_eq!(runs.next_try(), None);
        drop(handed);
        assert!(runs.hand_over(key).is_none());
        tokio::time::advance(runs.next_try().unwrap()).await;
        runs.hand_over(key).unwrap().settled();
        assert_eq!(runs.next_try(), None);
        drop(runs.hand_over(key).unwrap());
        tokio::time::advance(AGAIN_AFTER).await;
        assert_eq!(runs.next_try(), None);
        runs.rings().await;
    }
}
