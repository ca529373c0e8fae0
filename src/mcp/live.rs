//! A server that runs: who calls it, since when nobody does, and its changes of its list.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::exec::LastWords;
use chorus_mcp::Client;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

/// How long no further notice of a change may come before the list is read.
const QUIET: Duration = Duration::from_millis(500);

/// Shortest time between two readings of a list that the server asked for.
const BETWEEN_LISTS: Duration = Duration::from_secs(30);

/// A server that runs.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) client: Client,
    /// What was started: a hash of its entry.
    pub(super) started_as: String,
    /// Cancelled when it is to end.
    pub(super) closing: CancellationToken,
    /// Cancelled when nothing of it is left.
    pub(super) gone: CancellationToken,
    pub(super) calls: AtomicUsize,
    pub(super) used: Mutex<Instant>,
    pub(super) words: LastWords,
}

/// A call that is under way: its process is not idle.
pub(super) struct InFlight(Arc<Live>);

impl InFlight {
    pub(super) fn of(live: &Arc<Live>) -> Self {
        live.calls.fetch_add(1, Ordering::Relaxed);
        Self(live.clone())
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        *self.0.used.lock() = Instant::now();
        self.0.calls.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Live {
    /// Since when it is idle; `None` while it works.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        (self.calls.load(Ordering::Relaxed) == 0).then(|| *self.used.lock())
    }

    pub(super) async fn becomes_idle(&self, longest: Duration) {
        loop {
            let until = match self.idle_since() {
                Some(since) if since.elapsed() >= longest => return,
                Some(since) => since + longest,
                None => Instant::now() + longest,
            };
            sleep_until(until).await;
        }
    }
}

/// Reads the list again when the server says that it changed: after some quiet, and not too often.
pub(super) async fn reads_changes<R: Future<Output = ()>>(
    live: &Arc<Live>,
    refresh: &impl Fn(Arc<Live>) -> R,
) {
    let mut changes = live.client.list_changes();
    let mut next = Instant::now();
    loop {
        if changes.changed().await.is_err() {
            // The end of the connection is noticed elsewhere.
            return std::future::pending().await;
        }
        let latest = Instant::now() + BETWEEN_LISTS;
        loop {
            tokio::select! {
                biased;
                () = sleep_until(latest) => break,
                changed = changes.changed() => if changed.is_err() { break },
                () = sleep(QUIET) => break,
            }
        }
        sleep_until(next).await;
        changes.mark_unchanged();
        refresh(live.clone()).await;
        next = Instant::now() + BETWEEN_LISTS;
    }
}
