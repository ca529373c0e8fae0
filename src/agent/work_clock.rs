//! Measures a turn's working time: waiting for people does not count.

use std::time::{Duration, Instant};

/// Starts when it is made.
#[derive(Debug)]
pub(super) struct WorkClock {
    started: Instant,
    waited: Duration,
}

impl WorkClock {
    /// Starts to count.
    pub(super) fn start() -> Self {
        Self {
            started: Instant::now(),
            waited: Duration::ZERO,
        }
    }

    /// Time since the start, waiting included.
    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    pub(super) fn worked(&self) -> Duration {
        self.elapsed().saturating_sub(self.waited)
    }

    /// Runs `waiting` off the clock.
    pub(super) async fn off<T>(&mut self, waiting: impl Future<Output = T>) -> T {
        let began = Instant::now();
        let output = waiting.await;
        self.waited += began.elapsed();
        output
    }
}
