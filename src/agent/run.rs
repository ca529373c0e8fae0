//! What the turns of one run share: the turn that answers people, and all child turns below it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use crate::config::Orchestration;
use crate::domain::{Inbound, TurnId, UserId};
use crate::llm::route::TurnHealth;

use super::budget::KnownSums;
use super::stop::RunningChild;

/// What the turns of one run share.
#[derive(Debug)]
pub(super) struct Run {
    /// The turn that answers people, which the run is named by.
    pub(super) root: TurnId,
    /// The first turn of all that led to it.
    pub(super) origin: TurnId,
    /// Everyone whose messages are in the root.
    people: Mutex<Vec<UserId>>,
    /// Child turns that were begun, or wait for a person who allows it.
    begun: Mutex<u32>,
    /// For those that work at once.
    places: Arc<Semaphore>,
    /// What is known of its spending, and of what roles of it spent.
    pub(super) spent: KnownSums,
    /// Targets that are out for all of its turns.
    health: Mutex<TurnHealth>,
    /// Takes messages to child turns that came too late.
    pub(super) strays: mpsc::UnboundedSender<Box<Inbound>>,
    /// Whether its answer passes a role first: nobody sees words of its turns before.
    hides_words: AtomicBool,
}

impl Run {
    /// The run of the turn `root`, to which `origin` led, and in which the messages of `people` are.
    pub(super) fn new(
        root: TurnId,
        origin: TurnId,
        people: Vec<UserId>,
        limits: Orchestration,
        strays: mpsc::UnboundedSender<Box<Inbound>>,
    ) -> Self {
        Self {
            root,
            origin,
            people: Mutex::new(people),
            begun: Mutex::default(),
            places: Arc::new(Semaphore::new(limits.max_children_at_once.get() as usize)),
            spent: KnownSums::default(),
            health: Mutex::default(),
            strays,
            hides_words: AtomicBool::new(false),
        }
    }

    /// Nobody is to see words of its turns from now on.
    pub(super) fn hide_words(&self) {
        self.hides_words.store(true, Ordering::Release);
    }

    pub(super) fn hides_words(&self) -> bool {
        self.hides_words.load(Ordering::Acquire)
    }

    pub(super) fn people(&self) -> Vec<UserId> {
        self.people.lock().clone()
    }

    /// Somebody's message was handed to the root.
    pub(super) fn joined_by(&self, user: UserId) {
        let mut people = self.people.lock();
        if !people.contains(&user) {
            people.push(user);
        }
    }

    /// Counts one more child; not where there were `most`.
    pub(super) fn count_child(&self, most: u32) -> bool {
        let mut begun = self.begun.lock();
        let has_room = *begun < most;
        *begun += u32::from(has_room);
        has_room
    }

    /// One that was counted is not begun.
    pub(super) fn uncount_child(&self) {
        let mut begun = self.begun.lock();
        *begun = begun.saturating_sub(1);
    }

    /// Waits for a place to work; first come, first served.
    pub(super) async fn place(&self) -> Option<OwnedSemaphorePermit> {
        // It is never closed.
        Arc::clone(&self.places).acquire_owned().await.ok()
    }

    /// What was handed to a child turn that broke off is for a turn of its own.
    pub(super) fn answers_later(&self, child: &RunningChild) {
        for late in child.take_handed() {
            // What it had taken in is claimed in the ledger, and begins nothing.
            let _ = self.strays.send(Box::new(late));
        }
    }

    /// Which targets are out.
    pub(super) fn health(&self) -> TurnHealth {
        self.health.lock().clone()
    }

    /// What a request learned of them.
    pub(super) fn learned(&self, health: TurnHealth) {
        self.health.lock().absorb(health);
    }
}
