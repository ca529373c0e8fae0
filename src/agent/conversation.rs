//! One conversation of an agent while its actor lives: its items or the turn that has them, and the job that is done to it.

pub(super) mod job;
pub(super) mod mailbox;
pub(super) mod saving;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use chrono::{DateTime, Utc};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::Id;
use tokio_util::sync::CancellationToken;

use self::job::{Job, Stage};
use self::mailbox::{AgentCommand, ConversationState, RunningTurn, Target};
use crate::agent::event::Progress;
use crate::agent::files::seed::Seed;
use crate::agent::idle_timer::Hold;
use crate::agent::stop::{Stop, StopSignal, Stopper};
use crate::agent::turn::Calibration;
use crate::agent::turn::trigger::Trigger;
use crate::domain::{ChannelId, ConversationId, Inbound, Item, TurnId};
use crate::store::PlanOf;

/// One conversation.
pub(super) struct Conversation {
    /// Key in the ledger.
    pub id: ConversationId,
    /// Number of the branch; `None` for the main conversation.
    pub branch: Option<u32>,
    pub channel: ChannelId,
    /// The role that it works as.
    pub role: Option<String>,
    /// The conversation that gets the report of its first turn.
    pub reports_to: Option<ConversationId>,
    /// The schedule or webhook whose run it is for; a reply continues it for a while, and nothing else does.
    pub plan: Option<PlanOf>,
    pub items: Items,
    /// Number of items, kept up to date by the turn that has them.
    pub len: Arc<AtomicUsize>,
    /// Whether notes wait for its next turn.
    pub has_kept_notes: Arc<AtomicBool>,
    /// What its requests say of earlier conversations.
    pub seed: Seed,
    /// What turns learned about its size in tokens.
    pub calibration: Calibration,
    /// How many of them the latest save held.
    pub saved: usize,
    /// When somebody last wrote or a tool last ran.
    pub last_activity: DateTime<Utc>,
    pub turn: Option<Running>,
    /// What waits for the next turn.
    pub waiting: VecDeque<Trigger>,
    /// What is being done to it as a whole.
    pub job: Option<Job>,
    /// Commands that came while the job was under way, in their order.
    pub deferred: VecDeque<AgentCommand>,
}

/// Where a conversation's items are.
pub(super) enum Items {
    /// In the ledger only.
    Stored,
    Here(Arc<Vec<Item>>),
    /// With the turn that runs.
    Lent,
}

pub(super) struct Running {
    pub id: TurnId,
    pub task: Id,
    pub steer: mpsc::UnboundedSender<Box<Inbound>>,
    /// Everything that was handed to the turn, in case it ends without taking note of it.
    pub handed: Vec<Inbound>,
    pub stop: StopSignal,
    /// Cancelled when something waits for the turn's end.
    pub wanted: CancellationToken,
    pub progress: watch::Sender<Progress>,
    /// No idle firing while it runs.
    pub _hold: Hold,
}

impl Conversation {
    /// Messages in its context.
    pub(super) fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    /// Whether it holds items that no session has.
    pub(super) fn is_unsaved(&self) -> bool {
        self.len() > self.saved
    }

    /// Nothing runs in it.
    pub(super) fn is_quiet(&self) -> bool {
        self.turn.is_none() && self.job.is_none()
    }

    /// Whether commands have to wait for the end of the job. A turn that the job does not end still takes messages.
    pub(super) fn defers(&self) -> bool {
        self.job.as_ref().is_some_and(|job| {
            let reaches_turn = job.leaves_turn_running() && self.turn.is_some();
            !reaches_turn || !self.deferred.is_empty()
        })
    }

    /// Whether its job waits for the end of its turn.
    pub(super) fn waits_for_turn_end(&self) -> bool {
        let stage = self.job.as_ref().map(|job| &job.stage);
        matches!(stage, Some(Stage::TurnEnd))
    }

    /// A stop that came while messages wait for the job: it applies to their turns as well.
    pub(super) fn defer_stop(&mut self, stop: Stop, by: &Stopper) {
        let has_messages = !self.waiting.is_empty() || !self.deferred.is_empty();
        if self.job.is_none() || self.turn.is_some() || !has_messages {
            return;
        }
        // Another conversation may be the main one by then.
        let target = match self.branch {
            Some(_) => Target::Conversation(self.id),
            None => Target::Channel(self.channel),
        };
        let (unread, _) = oneshot::channel();
        let command = AgentCommand::Stop(target, stop, by.clone(), unread);
        self.deferred.push_back(command);
    }

    /// Replaces the items; their size is not known.
    pub(super) fn put(&mut self, items: Arc<Vec<Item>>) {
        self.calibration = Calibration::default();
        self.len.store(items.len(), Ordering::Relaxed);
        self.items = Items::Here(items);
    }

    /// Puts messages that the turn did not take back among those that wait, in the order in which they were written.
    pub(super) fn wait_again(&mut self, messages: Vec<Inbound>) {
        for message in messages {
            let is_later = |trigger: &Trigger| trigger.id() > Some(message.id);
            let at = self.waiting.iter().position(is_later);
            let at = at.unwrap_or(self.waiting.len());
            self.waiting.insert(at, Trigger::message(Box::new(message)));
        }
    }

    pub(super) fn clear(&mut self) {
        self.saved = 0;
        self.put(Arc::default());
    }

    /// Its state, for others.
    pub(super) fn state(&self) -> ConversationState {
        ConversationState {
            id: self.id,
            branch: self.branch,
            channel: self.channel,
            messages: self.len(),
            tokens: match &self.items {
                Items::Here(items) => Some(self.calibration.size(items)),
                Items::Lent | Items::Stored => self.calibration.counted(),
            },
            waiting: self.waiting.len() + self.deferred.len(),
            last_activity: self.last_activity,
            turn: self.turn.as_ref().map(|turn| RunningTurn {
                id: turn.id,
                progress: turn.progress.borrow().clone(),
            }),
        }
    }
}
