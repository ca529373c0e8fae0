//! What a turn records in the ledger: who allowed what, and what it cost.

use std::collections::HashMap;
use std::mem;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;

use crate::agent::budget::Reservation;
use crate::domain::{AttemptOutcome, Cost, ToolCall, TurnId, Usage};
use crate::store::{
    AttachedRows, AttemptRow, AuditDecision, AuditRow, EndReason, LeftOpen, Sum, Took,
};
use crate::tools::Prepared;

use super::Turn;

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
    pub(super) async fn alone(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.0.storing.lock().await
    }

    /// Those of a run, or all, to be stored now.
    pub(super) fn take(&self, run: Option<TurnId>) -> Vec<AttemptRow> {
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

    fn take(&self, turn: TurnId) -> Tally {
        self.0.lock().remove(&turn).unwrap_or_default()
    }
}

/// What a turn has cost, and what of it is not stored yet.
pub(super) struct Accounting {
    pub(super) tally: Tally,
    /// Rows that wait to be stored with the next step.
    pub(super) attached: AttachedRows,
    /// Requests whose rows were handed over but are not stored yet.
    handed: Vec<AttemptRow>,
    /// Reservations for the cost in those rows, held until they are stored.
    held: Vec<Reservation>,
    /// The outcome of the last request to a model.
    pub(super) last: Option<AttemptOutcome>,
    turn: TurnId,
    /// Receives the rows that are not stored when this is dropped.
    unstored: Unstored,
    beside: Beside,
}

impl Drop for Accounting {
    fn drop(&mut self) {
        let waiting = mem::take(&mut self.attached.attempts);
        let handed = mem::take(&mut self.handed);
        self.unstored.put(handed.into_iter().chain(waiting));
        self.beside.take(self.turn);
    }
}

/// What the children of a turn have spent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Below {
    pub(super) tally: Tally,
    pub(super) children: usize,
    /// Those that an abort ended.
    pub(super) aborted: usize,
}

impl Below {
    /// Adds a child and all below it.
    pub(super) fn add(&mut self, exit: EndReason, child: Tally, below: &Self) {
        self.children += 1 + below.children;
        self.aborted += usize::from(exit == EndReason::Aborted) + below.aborted;
        for tally in [child, below.tally] {
            self.tally.add(tally.usage, tally.cost);
        }
    }

    /// Adds a child that panicked, and all below it.
    pub(super) fn add_broken(&mut self, exit: EndReason, left: &LeftOpen) {
        let below = Self {
            tally: Tally::from(left.of_below),
            children: left.children,
            aborted: left.aborted,
        };
        self.add(exit, Tally::from(left.own), &below);
    }
}

impl Accounting {
    /// Nothing yet.
    pub(super) fn new(turn: TurnId, unstored: Unstored, beside: Beside) -> Self {
        Self {
            tally: Tally::default(),
            attached: AttachedRows::default(),
            handed: Vec::new(),
            held: Vec::new(),
            last: None,
            turn,
            unstored,
            beside,
        }
    }

    /// Adds what was asked beside the steps of the turn.
    pub(super) fn count_beside(&mut self) {
        let Tally { usage, cost, .. } = self.beside.take(self.turn);
        self.tally.add(usage, cost);
    }

    /// Keeps the row of an answer, and the reservation for its cost, until the answer is stored.
    pub(super) fn spent(&mut self, row: AttemptRow, held: Option<Reservation>) {
        if let Some(mut held) = held {
            held.settle(Sum {
                usd: row.cost.known_usd(),
                tokens: row.usage.input_total() + row.usage.output,
            });
            self.held.push(held);
        }
        self.attached.attempts.push(row);
    }

    /// Hands over what waits, to be stored now.
    pub(super) fn hand_over(&mut self) -> AttachedRows {
        let rows = mem::take(&mut self.attached);
        self.handed.extend(rows.attempts.iter().cloned());
        rows
    }

    /// What was handed over is in the ledger.
    pub(super) fn stored(&mut self) {
        self.handed.clear();
        self.held.clear();
    }
}

/// What a turn has cost so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tally {
    pub(super) steps: u32,
    pub(super) usage: Usage,
    pub(super) cost: Cost,
}

impl Tally {
    /// Adds an attempt; an unknown price makes the sum unknown, unless nothing was used.
    pub(super) fn add(&mut self, usage: Usage, cost: Cost) {
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

impl Turn {
    /// The audit row of a call that runs without a question.
    pub(super) async fn audit_allowed(&self, call: &ToolCall, prepared: &Prepared) -> AuditRow {
        let action = prepared.action.to_string();
        let audit = self
            .context
            .audit_row(call, &action, AuditDecision::Allow, None, Value::Null);
        self.with_change(call, prepared, audit).await
    }

    /// Adds what the call would change in the agent's configuration.
    pub(super) async fn with_change(
        &self,
        call: &ToolCall,
        prepared: &Prepared,
        mut audit: AuditRow,
    ) -> AuditRow {
        let context =
            self.tool_context(call.id.clone(), Vec::new(), self.context.stop.now().clone());
        if let Some(change) = prepared.change(&context).await {
            audit.detail = self.context.deps.audit_change(&change);
        }
        audit
    }
}
