//! How alive the connection is.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, Utc};
use tokio::sync::watch;

/// How alive the connection is, for health and readiness. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct GatewayHealth(Arc<Health>);

#[derive(Debug, Default)]
struct Health {
    is_ready: watch::Sender<bool>,
    last_event_ms: AtomicI64,
}

impl GatewayHealth {
    /// When the gateway last said anything.
    pub fn last_event_at(&self) -> Option<DateTime<Utc>> {
        match self.0.last_event_ms.load(Ordering::Relaxed) {
            0 => None,
            millis => DateTime::from_timestamp_millis(millis),
        }
    }

    /// Whether the gateway has accepted us, and has not been given up since.
    pub fn is_ready(&self) -> bool {
        *self.0.is_ready.borrow()
    }

    /// Waits until the gateway has accepted us.
    pub async fn becomes_ready(&self) {
        self.waits_for(true).await;
    }

    /// Waits until the connection is gone.
    pub async fn is_lost(&self) {
        self.waits_for(false).await;
    }

    async fn waits_for(&self, wanted: bool) {
        let mut is_ready = self.0.is_ready.subscribe();
        // The sender lives as long as we do.
        let _ = is_ready.wait_for(|is_ready| *is_ready == wanted).await;
    }

    /// The gateway said something.
    pub(super) fn saw_event(&self) {
        self.0
            .last_event_ms
            .store(Utc::now().timestamp_millis(), Ordering::Relaxed);
    }

    /// The gateway has accepted us, or does not any more.
    pub(super) fn set_ready(&self, is_ready: bool) {
        self.0.is_ready.send_replace(is_ready);
    }
}
