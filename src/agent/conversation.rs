//! One conversation of an agent while its actor lives: its items, or the turn that has them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use chrono::{DateTime, Utc};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::domain::{ChannelId, ConversationId, Inbound, Item, TurnId};

use super::event::Progress;
use super::idle_timer::Hold;
use super::mailbox::{ConversationState, RunningTurn, Trigger};
use super::stop::StopSignal;
use super::turn::Calibration;

/// One conversation.
pub(super) struct Conversation {
    /// Key in the ledger.
    pub id: ConversationId,
    /// Number of the branch; none for the main conversation.
    pub branch: Option<u32>,
    /// Where it is seen.
    pub channel: ChannelId,
    /// Where its items are.
    pub items: Items,
    /// How many there are, kept up to date by the turn that has them.
    pub len: Arc<AtomicUsize>,
    /// What turns learned of its size.
    pub calibration: Calibration,
    /// How many of them the latest save held.
    pub saved: usize,
    /// When somebody last wrote or a tool last ran.
    pub last_activity: DateTime<Utc>,
    /// The turn that runs.
    pub turn: Option<Running>,
    /// What waits for the next turn.
    pub waiting: VecDeque<Trigger>,
}

/// Where a conversation's items are.
pub(super) enum Items {
    /// In the ledger only.
    Stored,
    /// Here.
    Here(Arc<Vec<Item>>),
    /// With the turn that runs.
    Lent,
}

/// A turn that runs.
pub(super) struct Running {
    pub id: TurnId,
    pub steer: mpsc::UnboundedSender<Inbound>,
    /// Everything that was sent there, for a turn that ends without a word of it.
    pub handed: Vec<Inbound>,
    pub stop: StopSignal,
    /// Cancelled when something waits for its end.
    pub wanted: CancellationToken,
    pub progress: watch::Receiver<Progress>,
    /// No idle firing while it runs.
    pub _hold: Hold,
}

impl Conversation {
    /// Messages in its context.
    pub fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    /// There is something in it that no session holds.
    pub fn is_unsaved(&self) -> bool {
        self.len() > self.saved
    }

    /// Puts new items in place; nothing is known of their size.
    pub fn put(&mut self, items: Arc<Vec<Item>>) {
        self.calibration = Calibration::default();
        self.len.store(items.len(), Ordering::Relaxed);
        self.items = Items::Here(items);
    }

    /// Puts messages that no turn took back among what waits, in the order in which they were written.
    pub fn wait_again(&mut self, messages: Vec<Inbound>) {
        for message in messages {
            let is_later = |trigger: &Trigger| trigger.id() > Some(message.id);
            let at = self.waiting.iter().position(is_later);
            let at = at.unwrap_or(self.waiting.len());
            self.waiting.insert(at, Trigger::message(message));
        }
    }

    /// Empties it.
    pub fn clear(&mut self) {
        self.saved = 0;
        self.put(Arc::default());
    }

    /// How it stands, for others.
    pub fn state(&self) -> ConversationState {
        ConversationState {
            id: self.id,
            branch: self.branch,
            channel: self.channel,
            messages: self.len(),
            last_activity: self.last_activity,
            turn: self.turn.as_ref().map(|turn| RunningTurn {
                id: turn.id,
                progress: turn.progress.borrow().clone(),
            }),
        }
    }
}
