//! Whether the gateway has accepted us.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::watch;

/// Whether the gateway has accepted us, for health and readiness. Clones share their state.
#[derive(Clone, Debug, Default)]
pub struct GatewayHealth {
    is_ready: watch::Sender<bool>,
    times_ready: Arc<AtomicU64>,
}

impl GatewayHealth {
    /// Returns whether the gateway has accepted us, and the session can still be resumed.
    pub fn is_ready(&self) -> bool {
        *self.is_ready.borrow()
    }

    /// Waits until the gateway has accepted us.
    pub async fn becomes_ready(&self) {
        self.waits_for(true).await;
    }

    /// Waits until the session is lost, or cannot be resumed for now.
    pub async fn is_lost(&self) {
        self.waits_for(false).await;
    }

    async fn waits_for(&self, wanted: bool) {
        let mut is_ready = self.is_ready.subscribe();
        // The sender lives as long as `self`.
        let _ = is_ready.wait_for(|is_ready| *is_ready == wanted).await;
    }

    /// Returns how often the gateway has accepted or resumed a connection.
    pub fn times_ready(&self) -> u64 {
        self.times_ready.load(Ordering::Relaxed)
    }

    pub(super) fn set_ready(&self, is_ready: bool) {
        if is_ready {
            self.times_ready.fetch_add(1, Ordering::Relaxed);
        }
        self.is_ready.send_replace(is_ready);
    }
}
