//! What the turns of one run share. A run is the turn that answers people, and all child turns below it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::trigger::PlannedRun;
use crate::agent::models::budget::{KnownSums, Payer};
use crate::agent::stop::RunningChild;
use crate::config::Orchestration;
use crate::domain::{Inbound, Receipt, TurnId, UserId};
use crate::llm::route::TurnHealth;
use crate::store::TurnCause;

/// What the turns of one run share.
#[derive(Debug)]
pub(in crate::agent) struct Run {
    /// The turn that answers people, which the run is named by.
    pub(in crate::agent) root: TurnId,
    /// The first turn in the chain that led to it.
    pub(in crate::agent) origin: TurnId,
    pub(in crate::agent) payer: Payer,
    /// What began it.
    pub(in crate::agent) cause: TurnCause,
    /// The run of a schedule, or the turn of deliveries, that it is.
    pub(in crate::agent) planned: Option<PlannedRun>,
    /// Hops of tasks, hooks and agents that led to it since a person spoke.
    hops: AtomicU32,
    /// Everyone whose messages are in the root.
    people: Mutex<Vec<UserId>>,
    /// Number of child turns that were begun, or wait for a person to allow them.
    begun: Mutex<u32>,
    /// For those that work at once.
    places: Arc<Semaphore>,
    /// What is known of its spending, and of the spending of its roles.
    pub(in crate::agent) spent: KnownSums,
    /// Targets that failed and are skipped by all of its turns.
    health: Mutex<TurnHealth>,
    /// Takes messages to child turns that came too late.
    pub(in crate::agent) strays: mpsc::UnboundedSender<Box<Inbound>>,
    /// Whether its answer passes a role first: until then nobody sees words of its turns.
    hides_words: AtomicBool,
    /// Whether the daemon's stop ended a call that may have had effects.
    was_cut: AtomicBool,
    /// What its calls did, each added once the ledger has it.
    pub(in crate::agent) receipt: Mutex<Receipt>,
}

/// What is behind a run as it begins.
#[derive(Debug)]
pub(in crate::agent) struct Behind {
    /// The first turn in the chain that led to it.
    pub(in crate::agent) origin: TurnId,
    /// Hops of tasks, hooks and agents that led to it.
    pub(in crate::agent) hops: u32,
    /// Those whose messages it begins with.
    pub(in crate::agent) people: Vec<UserId>,
    pub(in crate::agent) payer: Payer,
    /// What began it.
    pub(in crate::agent) cause: TurnCause,
    /// The run of a schedule, or the turn of deliveries, that it is.
    pub(in crate::agent) planned: Option<PlannedRun>,
}

impl Run {
    /// The run of the turn `root`.
    pub(in crate::agent) fn new(
        root: TurnId,
        behind: Behind,
        limits: Orchestration,
        strays: mpsc::UnboundedSender<Box<Inbound>>,
    ) -> Self {
        Self {
            root,
            origin: behind.origin,
            payer: behind.payer,
            cause: behind.cause,
            planned: behind.planned,
            hops: AtomicU32::new(behind.hops),
            people: Mutex::new(behind.people),
            begun: Mutex::default(),
            places: Arc::new(Semaphore::new(limits.max_children_at_once.get() as usize)),
            spent: KnownSums::default(),
            health: Mutex::default(),
            strays,
            hides_words: AtomicBool::new(false),
            was_cut: AtomicBool::new(false),
            receipt: Mutex::default(),
        }
    }

    /// From now on nobody is to see words of its turns.
    pub(in crate::agent) fn hide_words(&self) {
        self.hides_words.store(true, Ordering::Release);
    }

    pub(in crate::agent) fn hides_words(&self) -> bool {
        self.hides_words.load(Ordering::Acquire)
    }

    /// The daemon's stop ended a call that may have had effects.
    pub(in crate::agent) fn cut(&self) {
        self.was_cut.store(true, Ordering::Release);
    }

    pub(in crate::agent) fn was_cut(&self) -> bool {
        self.was_cut.load(Ordering::Acquire)
    }

    pub(in crate::agent) fn people(&self) -> Vec<UserId> {
        self.people.lock().clone()
    }

    /// Hops of tasks, hooks and agents since a person spoke.
    pub(in crate::agent) fn hops(&self) -> u32 {
        self.hops.load(Ordering::Acquire)
    }

    /// Somebody's message was handed to the root: what follows is caused by that.
    pub(in crate::agent) fn joined_by(&self, user: UserId) {
        self.hops.store(0, Ordering::Release);
        self.speaks(user);
    }

    /// Adds a person whose words the run contains.
    pub(in crate::agent) fn speaks(&self, user: UserId) {
        let mut people = self.people.lock();
        if !people.contains(&user) {
            people.push(user);
        }
    }

    /// Counts one more child, unless there are `most` already; returns whether it did.
    pub(in crate::agent) fn count_child(&self, most: u32) -> bool {
        let mut begun = self.begun.lock();
        let has_room = *begun < most;
        *begun += u32::from(has_room);
        has_room
    }

    /// A child that was counted is not begun after all.
    pub(in crate::agent) fn uncount_child(&self) {
        let mut begun = self.begun.lock();
        *begun = begun.saturating_sub(1);
    }

    /// Waits for a place to work; first come, first served.
    pub(in crate::agent) async fn place(&self) -> Option<OwnedSemaphorePermit> {
        // It is never closed.
        Arc::clone(&self.places).acquire_owned().await.ok()
    }

    /// Messages that were handed to a child turn which panicked get a turn of their own.
    pub(in crate::agent) fn answers_later(&self, child: &RunningChild) {
        for late in child.take_handed() {
            // What the child had taken in is claimed in the ledger, and starts no turn.
            let _ = self.strays.send(Box::new(late));
        }
    }

    /// The targets that failed.
    pub(in crate::agent) fn health(&self) -> TurnHealth {
        self.health.lock().clone()
    }

    /// What a request learned of them.
    pub(in crate::agent) fn learned(&self, health: TurnHealth) {
        self.health.lock().absorb(health);
    }
}
