//! What a turn that no person began is the work of: the slot of a schedule, or deliveries of a webhook. Both begin and end with
//! their turn, each in one transaction.

use sqlx::SqliteConnection;

use super::batch::Batch;
use super::deliveries::{
    DeliveriesKey, end_deliveries, end_deliveries_of, hand_on_deliveries, start_deliveries,
};
use super::error::StoreError;
use super::part::NewPart;
use super::schedule_runs::{SlotKey, SlotState, end_run, end_run_of, hand_on_run, start_run};
use crate::domain::{ChannelId, TurnId};

/// What a turn that no person began is the work of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum WorkKey {
    Slot(SlotKey),
    Deliveries(DeliveriesKey),
}

impl From<SlotKey> for WorkKey {
    fn from(slot: SlotKey) -> Self {
        Self::Slot(slot)
    }
}

impl From<DeliveriesKey> for WorkKey {
    fn from(deliveries: DeliveriesKey) -> Self {
        Self::Deliveries(deliveries)
    }
}

/// What people see of the end of a run, where they see anything.
#[derive(Clone, Debug, PartialEq)]
pub struct RunPost {
    pub channel: ChannelId,
    pub part: NewPart,
}

/// How a run ends, and what people see of it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunEnd {
    pub key: WorkKey,
    pub state: SlotState,
    pub reason: Option<String>,
    pub posts: Vec<RunPost>,
    /// Whether `posts` may say what was said before.
    pub repeats: Repeats,
    /// What happens after too many failures in a row.
    pub pausing: Option<Pausing>,
}

impl RunEnd {
    /// The end of a run of which people see nothing.
    pub fn unseen(key: impl Into<WorkKey>, state: SlotState, reason: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            state,
            reason: Some(reason.into()),
            posts: Vec::new(),
            repeats: Repeats::Always,
            pausing: None,
        }
    }
}

/// Whether the same failure is posted again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeats {
    Always,
    OnceADay,
}

/// Pauses a schedule or a webhook whose runs keep failing.
#[derive(Clone, Debug, PartialEq)]
pub struct Pausing {
    /// Failures in a row.
    pub after: u32,
    /// Why, as `/schedule show` and `/hook show` have it.
    pub reason: String,
    /// What people are told, once.
    pub told: Option<RunPost>,
}

/// What came of the attempt to end a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnded {
    /// It had ended before.
    Before,
    Now,
    /// It had failed once too often: its schedule or webhook is paused.
    AndPaused,
}

/// Gives work its turn (S2, W2), in the transaction in which that begins.
pub(super) fn start_work(batch: &mut Batch, key: &WorkKey, turn: TurnId) {
    match key {
        WorkKey::Slot(slot) => start_run(batch, *slot, turn),
        WorkKey::Deliveries(deliveries) => start_deliveries(batch, deliveries, turn),
    }
}

/// The work of an interrupted turn goes on as that of the turn that continues it.
pub(super) fn hand_on_work(batch: &mut Batch, key: &WorkKey, from: TurnId, to: TurnId) {
    match key {
        WorkKey::Slot(_) => hand_on_run(batch, from, to),
        WorkKey::Deliveries(_) => hand_on_deliveries(batch, from, to),
    }
}

/// Ends work, counts its failure, and pauses its schedule or webhook after too many.
pub(super) async fn end_work(
    db: &mut SqliteConnection,
    end: RunEnd,
) -> Result<RunEnded, StoreError> {
    match end.key.clone() {
        WorkKey::Slot(slot) => end_run(db, slot, end).await,
        WorkKey::Deliveries(deliveries) => end_deliveries(db, deliveries, end).await,
    }
}

/// Ends the work of a turn of which nothing more is known than that it did not answer.
pub(super) fn end_work_of(batch: &mut Batch, turn: TurnId, reason: &str) {
    end_run_of(batch, turn, reason);
    end_deliveries_of(batch, turn, reason);
}
