//! How a running turn is asked to end.

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

/// Why a turn shall end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Stop {
    /// `/stop`: end what runs now, then one last step without tools.
    Graceful = 1,
    /// `/abort`: end at once.
    Abort = 2,
    /// The daemon stops: end at once, and say so.
    Shutdown = 3,
}

/// Cancels `token` after `time`, unless what this gives is dropped before.
pub fn cancelled_after(token: &CancellationToken, time: Duration) -> AbortOnDropHandle<()> {
    if time.is_zero() {
        token.cancel();
    }
    let token = token.clone();
    AbortOnDropHandle::new(tokio::spawn(async move {
        tokio::time::sleep(time).await;
        token.cancel();
    }))
}

/// One turn's ear for [`Stop`]. Cheap to clone; all clones hear the same.
#[derive(Clone, Debug, Default)]
pub struct StopSignal {
    asked: std::sync::Arc<AtomicU8>,
    /// Cancelled by any kind of stop: ends model requests and tools that run now.
    now: CancellationToken,
    /// Cancelled by abort and shutdown only.
    hard: CancellationToken,
}

impl StopSignal {
    /// Asks for `stop`. A second `Graceful` becomes an `Abort`: the person did not want to wait.
    pub fn ask(&self, stop: Stop) {
        let stop = match (self.asked(), stop) {
            (Some(Stop::Graceful), Stop::Graceful) => Stop::Abort,
            _ => stop,
        };
        self.asked.fetch_max(stop as u8, Ordering::AcqRel);
        self.now.cancel();
        if stop > Stop::Graceful {
            self.hard.cancel();
        }
    }

    /// What was asked so far, the strongest.
    pub fn asked(&self) -> Option<Stop> {
        match self.asked.load(Ordering::Acquire) {
            0 => None,
            1 => Some(Stop::Graceful),
            2 => Some(Stop::Abort),
            _ => Some(Stop::Shutdown),
        }
    }

    /// Ends with any kind of stop.
    pub fn now(&self) -> &CancellationToken {
        &self.now
    }

    /// Ends with abort and shutdown: what the last step listens to.
    pub fn hard(&self) -> &CancellationToken {
        &self.hard
    }
}
