//! What turns leave behind until the ledger has it: requests that nobody stored, what was asked beside steps, and turns that
//! could not be ended.

use std::collections::HashMap;
use std::mem;
use std::sync::Arc;

use parking_lot::Mutex;

use super::identity::Identity;
use crate::domain::{Cost, TurnId, Usage};
use crate::store::{AttemptRow, Took};

/// Requests that nobody is left to store: the task of their turn broke off, or the ledger did not take them. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Unstored(Arc<Kept>);

#[derive(Debug, Default)]
struct Kept {
    rows: Mutex<Vec<AttemptRow>>,
    /// Held by whoever stores some of them: whoever adds up a run finds them kept or stored, and not in between.
    storing: tokio::sync::Mutex<()>,
}

impl Unstored {
    /// Keeps these.
    pub(in crate::agent) fn put(&self, rows: impl IntoIterator<Item = AttemptRow>) {
        self.0.rows.lock().extend(rows);
    }

    /// Waits for the right to store them, and has it until what this gives is dropped.
    pub(in crate::agent) async fn alone(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.0.storing.lock().await
    }

    /// Those of a run, or all, to be stored now.
    pub(in crate::agent) fn take(&self, run: Option<TurnId>) -> Vec<AttemptRow> {
        let mut rows = self.0.rows.lock();
        rows.extract_if(.., |row| run.is_none() || row.run == run)
            .collect()
    }
}

/// What running turns asked beside their steps, answered or not, and have not added to their tallies yet. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Beside(Arc<Mutex<HashMap<TurnId, Tally>>>);

impl Beside {
    /// A request for a turn used this.
    pub(in crate::agent) fn took(&self, turn: TurnId, usage: Usage, cost: Cost) {
        self.0.lock().entry(turn).or_default().add(usage, cost);
    }

    pub(in crate::agent) fn take(&self, turn: TurnId) -> Tally {
        self.0.lock().remove(&turn).unwrap_or_default()
    }
}

/// Turns that are running in the ledger although they stopped, and whose they are. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Unclosed(Arc<Mutex<HashMap<TurnId, Arc<Identity>>>>);

impl Unclosed {
    /// This turn of `agent` could not be ended in the ledger.
    pub(in crate::agent) fn put(&self, turn: TurnId, agent: &Arc<Identity>) {
        self.0.lock().insert(turn, Arc::clone(agent));
    }

    /// All of them, to be ended now.
    pub(in crate::agent) fn take(&self) -> HashMap<TurnId, Arc<Identity>> {
        mem::take(&mut self.0.lock())
    }
}

/// What a turn has cost so far.
#[derive(Clone, Copy, Debug)]
pub(in crate::agent) struct Tally {
    pub(in crate::agent) steps: u32,
    pub(in crate::agent) usage: Usage,
    pub(in crate::agent) cost: Cost,
}

impl Tally {
    /// Adds an attempt; an unknown price makes the sum unknown, unless nothing was used.
    pub(in crate::agent) fn add(&mut self, usage: Usage, cost: Cost) {
        self.usage += usage;
        self.cost = match cost {
            Cost::Unknown if usage == Usage::default() => self.cost,
            cost => self.cost.plus(cost),
        };
    }
}

impl From<Took> for Tally {
    fn from(Took { steps, usage, cost }: Took) -> Self {
        Self { steps, usage, cost }
    }
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            steps: 0,
            usage: Usage::default(),
            cost: Cost::Usd(0.0),
        }
    }
}
