//! What a turn records in the ledger: who allowed what, and what it cost.

use std::mem;

use serde_json::{Map, Value};

use super::Turn;
use crate::agent::deps::unstored::{Beside, Tally, Unstored};
use crate::agent::models::budget::Reservation;
use crate::domain::{AttemptOutcome, ToolCall, TurnId};
use crate::store::{AttachedRows, AttemptRow, AuditDecision, AuditRow, EndReason, LeftOpen, Sum};
use crate::tools::Prepared;

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
            let tokens = row.usage.input_total() + row.usage.output;
            held.settle(Sum::of(row.cost, tokens));
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

impl Turn {
    /// The audit row of a call that runs without a question.
    pub(super) async fn audit_allowed(&self, call: &ToolCall, prepared: &Prepared) -> AuditRow {
        let action = prepared.action.to_string();
        let audit =
            self.context
                .audit_row(call, &action, AuditDecision::Allow, None, leads(prepared));
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

/// Where a call leads that does not say so itself, for its audit row; null where it leads nowhere else.
pub(super) fn leads(prepared: &Prepared) -> Value {
    let mut led = Map::new();
    if let Some(reached) = prepared.action.reached() {
        led.insert("reached".to_owned(), reached.to_string().into());
    }
    if let Some(address) = &prepared.address {
        led.insert("address".to_owned(), address.as_str().into());
    }
    if led.is_empty() {
        Value::Null
    } else {
        Value::Object(led)
    }
}
