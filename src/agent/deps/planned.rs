//! Runs of schedules and deliveries that are with their agents, and the bell that has what is due looked for again.
//!
//! A run that was handed to its agent is `due` in the ledger until its turn begins (S2). Meanwhile nobody else must hand it over.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::store::{Durations, SlotKey, SlotState};

/// How long a run waits that its agent gave back.
const AGAIN_AFTER: Duration = Duration::from_secs(10);

/// The daemon's. Clones share their state.
#[derive(Clone, Debug, Default)]
pub struct PlannedRuns(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    handed: Mutex<HashMap<HandedKey, Handed>>,
    changed: Notify,
    figures: Mutex<RunFigures>,
}

/// What is with an agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum HandedKey {
    /// The run of a slot.
    Slot(SlotKey),
    /// The deliveries of a webhook that share a conversation.
    Deliveries {
        webhook: String,
        thread: Option<String>,
    },
}

/// Upper bounds of the buckets for the lateness of runs, in milliseconds.
pub const LATENESS_BOUNDS: &[u64] = &[
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 60_000, 600_000, 3_600_000, 86_400_000,
];

/// What became of runs since the start of the daemon.
#[derive(Clone, Debug, Default)]
pub struct RunFigures {
    /// Number of runs that ended, by how.
    pub ended: BTreeMap<&'static str, u64>,
    /// How long after their time runs began.
    pub lateness: Durations,
}

#[derive(Clone, Copy, Debug)]
enum Handed {
    WithAgent,
    /// It was given back, and may be handed over from then on.
    From(Instant),
}

/// What is with an agent. Dropping it gives the run back.
#[derive(Debug)]
pub struct HandedRun {
    runs: PlannedRuns,
    key: HandedKey,
    is_settled: bool,
}

impl PlannedRuns {
    /// Hands a run over, unless it is with its agent or was given back a moment ago.
    pub fn hand_over(&self, key: HandedKey) -> Option<HandedRun> {
        self.hand_over_at(key, Instant::now())
    }

    fn hand_over_at(&self, key: HandedKey, now: Instant) -> Option<HandedRun> {
        let mut handed = self.0.handed.lock();
        let is_free = match handed.get(&key) {
            None => true,
            Some(Handed::WithAgent) => false,
            Some(Handed::From(at)) => *at <= now,
        };
        is_free.then(|| {
            handed.insert(key.clone(), Handed::WithAgent);
            HandedRun {
                runs: self.clone(),
                key,
                is_settled: false,
            }
        })
    }

    /// Returns how long until the first run that was given back may be handed over again.
    pub fn next_try(&self) -> Option<Duration> {
        self.next_try_at(Instant::now())
    }

    fn next_try_at(&self, now: Instant) -> Option<Duration> {
        let mut handed = self.0.handed.lock();
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

    /// Counts runs that ended.
    pub fn count(&self, state: SlotState, runs: u64) {
        *self
            .0
            .figures
            .lock()
            .ended
            .entry(state.as_str())
            .or_default() += runs;
    }

    /// Counts a run that begins so long after its time.
    pub fn count_late(&self, late: Duration) {
        let millis = u64::try_from(late.as_millis()).unwrap_or(u64::MAX);
        let within = LATENESS_BOUNDS
            .iter()
            .map(|most| u64::from(millis <= *most));
        self.0.figures.lock().lateness.add(&Durations {
            sum: late,
            count: 1,
            within: within.collect(),
        });
    }

    /// Returns what became of runs since the start of the daemon.
    pub fn figures(&self) -> RunFigures {
        self.0.figures.lock().clone()
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
                handed.insert(self.key.clone(), Handed::From(Instant::now() + AGAIN_AFTER));
            }
        }
        self.runs.ring();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[tokio::test]
    async fn a_run_is_with_one_turn_and_waits_after_it_was_given_back() {
        let runs = PlannedRuns::default();
        let key = HandedKey::Slot(SlotKey {
            schedule: 1,
            slot: crate::clock::now(),
        });
        let handed = runs.hand_over(key.clone()).unwrap();
        assert!(runs.hand_over(key.clone()).is_none());
        assert_eq!(runs.next_try(), None);
        drop(handed);
        assert!(runs.hand_over(key.clone()).is_none());
        assert!(runs.next_try().unwrap() <= AGAIN_AFTER);
        let later = Instant::now() + AGAIN_AFTER;
        runs.hand_over_at(key.clone(), later).unwrap().settled();
        assert_eq!(runs.next_try(), None);
        drop(runs.hand_over(key.clone()).unwrap());
        assert_eq!(runs.next_try_at(Instant::now() + AGAIN_AFTER), None);
        assert!(runs.hand_over(key).is_some());
        runs.rings().await;
    }
}
