//! The time after which a request is given up. Waiting for a place at its provider does not count, neither here nor as work
//! of its turn.

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::cancelled_after;
use super::work_clock::{Waits, WorkClock};

/// Cancels its token once the time is over, unless it is dropped before.
pub(in crate::agent) struct Deadline {
    token: CancellationToken,
    left: Duration,
    /// When it last began to run, and the task that ends it.
    running: Option<(Instant, AbortOnDropHandle<()>)>,
    /// That of the turn that asks.
    clock: Option<WorkClock>,
    off_the_clock: Option<Waits>,
}

impl Deadline {
    /// Cancels a child of `stop` after `time`.
    pub(in crate::agent) fn new(stop: &CancellationToken, time: Duration) -> Self {
        let token = stop.child_token();
        let running = Some((Instant::now(), cancelled_after(&token, time)));
        Self {
            token,
            left: time,
            running,
            clock: None,
            off_the_clock: None,
        }
    }

    /// Stops `clock` with it.
    pub(in crate::agent) fn on(self, clock: &WorkClock) -> Self {
        Self {
            clock: Some(clock.clone()),
            ..self
        }
    }

    /// Cancelled when the time is over.
    pub(in crate::agent) fn token(&self) -> CancellationToken {
        self.token.clone()
    }

    /// Pauses the clock until [`Self::resume`]. Pausing twice is the same as once.
    pub(in crate::agent) fn pause(&mut self) {
        if let Some((since, _)) = self.running.take() {
            self.left = self.left.saturating_sub(since.elapsed());
            self.off_the_clock = self.clock.as_ref().map(WorkClock::waits);
        }
    }

    /// Lets the clock run again after a pause.
    pub(in crate::agent) fn resume(&mut self) {
        if self.running.is_none() {
            self.off_the_clock = None;
            self.running = Some((Instant::now(), cancelled_after(&self.token, self.left)));
        }
    }
}
