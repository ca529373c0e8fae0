//! Checks whether the daemon is alive: its runtime runs, its agents' manager answers, its ledger writes.
//!
//! The connection to Discord does not count: an outage must not end running turns, and the gateway has its own
//! watchdog. Single turns do not count either: each has its own deadline.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use sd_notify::NotifyState;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};

use crate::clock;
use crate::store::{Store, StoreError};

/// A check that takes longer has failed.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The key under which the ledger keeps the time of the last check.
const META_KEY: &str = "alive_at";

/// Checks for signs of life.
#[derive(Clone)]
pub(super) struct Watchdog {
    store: Store,
    manager: Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>,
}

/// What prevents the daemon from doing its work.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unhealthy {
    #[error("the manager of agents does not answer")]
    ManagerSilent,
    #[error("the ledger does not write: {0}")]
    LedgerFails(#[source] StoreError),
    #[error("the ledger does not answer")]
    LedgerSilent,
}

impl Watchdog {
    /// Creates the watchdog; `manager` completes when the agents' manager answers.
    pub(super) fn new(
        store: Store,
        manager: impl Fn() -> BoxFuture<'static, ()> + Send + Sync + 'static,
    ) -> Self {
        Self {
            store,
            manager: Arc::new(manager),
        }
    }

    /// # Errors
    ///
    /// Fails if the manager or the ledger does not answer in time, or the ledger fails.
    pub(super) async fn check_health(&self) -> Result<(), Unhealthy> {
        if timeout(TIMEOUT, (self.manager)()).await.is_err() {
            return Err(Unhealthy::ManagerSilent);
        }
        let now = clock::rfc3339(clock::now());
        match timeout(TIMEOUT, self.store.set_meta(META_KEY, &now)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(Unhealthy::LedgerFails(error)),
            Err(_) => Err(Unhealthy::LedgerSilent),
        }
    }

    /// Notifies systemd's watchdog, if there is one, for as long as the daemon is healthy.
    pub(super) async fn feed_watchdog(self, stop: CancellationToken) {
        let Some(interval) = sd_notify::watchdog_enabled() else {
            return;
        };
        // Three notifications within the watchdog's interval.
        let mut ticks = tokio::time::interval(interval / 3);
        while stop.run_until_cancelled(ticks.tick()).await.is_some() {
            match self.check_health().await {
                Ok(()) => tell(&[NotifyState::Watchdog]),
                // systemd restarts a daemon that does not notify it.
                Err(error) => error!("unhealthy, so systemd is not notified: {error}"),
            }
        }
    }
}

/// Sends a state to systemd; without systemd this does nothing.
pub(super) fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        warn!("failed to notify systemd: {error}");
    }
}
