//! How often an agent may do something.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::domain::AgentId;

/// A limit of uses in any period of a certain length, counted per agent.
#[derive(Debug)]
pub struct RateLimit {
    most: usize,
    within: Duration,
    taken: Mutex<HashMap<AgentId, VecDeque<Instant>>>,
}

impl RateLimit {
    /// Allows at most `most` uses in any `within`.
    pub fn new(most: usize, within: Duration) -> Self {
        Self {
            most,
            within,
            taken: Mutex::default(),
        }
    }

    /// Counts a use by `agent`.
    ///
    /// # Errors
    ///
    /// Fails with the time to wait if none is left.
    pub fn take(&self, agent: AgentId) -> Result<(), Duration> {
        let now = Instant::now();
        let mut taken = self.taken.lock();
        taken.retain(|_, times| {
            times.retain(|at| now.duration_since(*at) < self.within);
            !times.is_empty()
        });
        let times = taken.entry(agent).or_default();
        match times.front() {
            Some(first) if times.len() >= self.most => {
                Err(self.within.saturating_sub(now.duration_since(*first)))
            }
            Some(_) | None => {
                times.push_back(now);
                Ok(())
            }
        }
    }
}

impl Default for RateLimit {
    /// Returns ten in ten minutes: enough to work together, too few to talk in circles at a person's expense.
    fn default() -> Self {
        Self::new(10, Duration::from_secs(600))
    }
}
