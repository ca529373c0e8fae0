//! Deliveries of webhooks that are with their agents, and what became of all since the start.

use std::collections::BTreeMap;
use std::sync::Arc;

use chorus_webhook::Kind;
use parking_lot::Mutex;

use super::planned::PlannedRuns;
use crate::store::DeliveryState;

/// The daemon's. Clones share their state.
#[derive(Clone, Debug, Default)]
pub struct Deliveries {
    /// What is with its agent, by conversation.
    pub handed: PlannedRuns,
    figures: Arc<Mutex<DeliveryFigures>>,
}

/// Number of deliveries that ended since the start of the daemon, by kind and outcome.
pub type DeliveryFigures = BTreeMap<(&'static str, &'static str), u64>;

impl Deliveries {
    /// Counts deliveries that ended.
    pub fn count(&self, kind: Kind, outcome: DeliveryState, deliveries: u64) {
        let key = (kind.word(), outcome.as_str());
        *self.figures.lock().entry(key).or_default() += deliveries;
    }

    /// Returns what became of deliveries since the start of the daemon.
    pub fn figures(&self) -> DeliveryFigures {
        self.figures.lock().clone()
    }
}
