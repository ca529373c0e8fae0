//! What a turn has cost, and what of that is not in the ledger yet.

use std::mem;

use crate::agent::deps::unstored::{Beside, Tally, Unstored};
use crate::agent::models::budget::Reservation;
use crate::agent::turn::end::cause::ModelFailure;
use crate::domain::{AttemptOutcome, TurnId};
use crate::llm::Target;
use crate::store::{AttachedRows, AttemptRow, EndReason, LeftOpen, Sum};

/// What a turn has cost, and what of it is not stored yet.
pub(in crate::agent) struct Accounting {
    pub(in crate::agent) tally: Tally,
    /// Rows that wait to be stored with the next step.
    pub(in crate::agent) attached: AttachedRows,
    /// Requests whose rows were handed over but are not stored yet.
    handed: Vec<AttemptRow>,
    /// Reservations for the cost in those rows, held until they are stored.
    held: Vec<Reservation>,
    /// The outcome of the last request to a model.
    pub(in crate::agent) last: Option<AttemptOutcome>,
    /// Why the last step got no answer, if it got none.
    pub(in crate::agent) failure: Option<ModelFailure>,
    /// The model that was asked last.
    pub(in crate::agent) asked: Option<Target>,
    turn: TurnId,
    /// Receives the rows that are not stored when this is dropped.
    unstored: Unstored,
    beside: Beside,
}

impl Drop for Accounting {
    fn drop(&mut self) {
        self.gives_up();
    }
}

/// What the children of a turn have spent.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::agent) struct Below {
    pub(in crate::agent) tally: Tally,
    pub(in crate::agent) children: usize,
    /// Those that an abort ended.
    pub(in crate::agent) aborted: usize,
}

impl Below {
    /// Adds a child and all below it.
    pub(in crate::agent) fn add(&mut self, exit: EndReason, child: Tally, below: &Self) {
        self.children += 1 + below.children;
        self.aborted += usize::from(exit == EndReason::Aborted) + below.aborted;
        for tally in [child, below.tally] {
            self.tally.add(tally.usage, tally.cost);
        }
    }

    /// Adds a child that panicked, and all below it.
    pub(in crate::agent) fn add_broken(&mut self, exit: EndReason, left: &LeftOpen) {
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
    pub(in crate::agent) fn new(turn: TurnId, unstored: Unstored, beside: Beside) -> Self {
        Self {
            tally: Tally::default(),
            attached: AttachedRows::default(),
            handed: Vec::new(),
            held: Vec::new(),
            last: None,
            failure: None,
            asked: None,
            turn,
            unstored,
            beside,
        }
    }

    /// Adds what was asked beside the steps of the turn.
    pub(in crate::agent) fn count_beside(&mut self) {
        let Tally { usage, cost, .. } = self.beside.take(self.turn);
        self.tally.add(usage, cost);
    }

    /// Keeps the row of an answer, and the reservation for its cost, until the answer is stored.
    pub(in crate::agent) fn spent(&mut self, row: AttemptRow, held: Option<Reservation>) {
        if let Some(mut held) = held {
            let tokens = row.usage.input_total() + row.usage.output;
            held.settle(Sum::of(row.cost, tokens));
            self.held.push(held);
        }
        self.attached.attempts.push(row);
    }

    /// Hands over what waits, to be stored now.
    pub(in crate::agent) fn hand_over(&mut self) -> AttachedRows {
        let rows = mem::take(&mut self.attached);
        self.handed.extend(rows.attempts.iter().cloned());
        rows
    }

    /// Nothing more of the turn is stored: its rows are left to whoever closes it.
    pub(in crate::agent) fn gives_up(&mut self) {
        let waiting = mem::take(&mut self.attached.attempts);
        let handed = mem::take(&mut self.handed);
        self.unstored.put(handed.into_iter().chain(waiting));
        self.beside.take(self.turn);
    }

    /// What was handed over is in the ledger.
    pub(in crate::agent) fn stored(&mut self) {
        self.handed.clear();
        self.held.clear();
    }
}
