//! A turn at work: what it is made from, what it holds, what it leaves.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::domain::{
    AgentConfig, Assistant, ChannelId, ConversationId, Cost, Inbound, Item, TurnId, Usage, UserId,
};
use crate::llm::Target;
use crate::llm::route::TurnHealth;
use crate::store::{AttachedRows, StoreError};

use super::super::compact::Summarised;
use super::super::deps::AgentDeps;
use super::super::end_reason::EndReason;
use super::super::event::{Progress, TurnRef};
use super::super::identity::Identity;
use super::super::mailbox::{Mode, Trigger};
use super::super::stop::StopSignal;
use super::super::stuck::LoopDetector;
use super::super::work_clock::WorkClock;
use super::context_meter::{Calibration, ContextMeter};

/// What a turn is made from.
pub(in crate::agent) struct TurnParams {
    /// Its id.
    pub turn: TurnId,
    /// The conversation it runs in.
    pub conversation: ConversationId,
    /// Number of the branch.
    pub branch: Option<u32>,
    /// Where it is seen.
    pub channel: ChannelId,
    /// The conversation's items, when the actor had them.
    pub items: Option<Arc<Vec<Item>>>,
    /// What earlier turns learned of its size.
    pub calibration: Calibration,
    /// Kept at their number.
    pub len: Arc<AtomicUsize>,
    /// What starts it.
    pub trigger: Trigger,
    /// Messages that come while it runs.
    pub steered: mpsc::UnboundedReceiver<Inbound>,
    /// Its ear for a stop.
    pub stop: StopSignal,
    /// Cancelled when something waits for its end.
    pub wanted: CancellationToken,
    /// Where it says how far it is.
    pub progress: watch::Sender<Progress>,
}

/// What the actor gets back.
#[derive(Default)]
pub(in crate::agent) struct TurnEnd {
    /// The conversation's items; none where they must be read from the ledger anew.
    pub items: Option<Arc<Vec<Item>>>,
    /// Messages that came too late to be taken in.
    pub leftover: Vec<Inbound>,
    /// How many items the latest save holds, where the turn changed that.
    pub saved: Option<usize>,
    /// What the turn learned of the conversation's size.
    pub calibration: Calibration,
}

/// A turn at work.
pub(in crate::agent) struct Turn {
    pub(super) deps: Arc<AgentDeps>,
    pub(super) agent: Arc<Identity>,
    pub(super) reference: TurnRef,
    pub(super) conversation: ConversationId,
    pub(super) branch: Option<u32>,
    pub(super) items: Arc<Vec<Item>>,
    pub(super) len: Arc<AtomicUsize>,
    pub(super) steered: mpsc::UnboundedReceiver<Inbound>,
    /// The message that is being taken in.
    pub(super) joining: Option<Inbound>,
    pub(super) stop: StopSignal,
    pub(super) wanted: CancellationToken,
    pub(super) progress: watch::Sender<Progress>,
    pub(super) preview: watch::Sender<String>,
    pub(super) clock: WorkClock,
    /// Everyone whose messages are in the turn.
    pub(super) people: Vec<UserId>,
    /// The first person behind a turn that another turn started.
    pub(super) asker: Option<UserId>,
    pub(super) depth: u8,
    pub(super) origin: TurnId,
    pub(super) model: Option<String>,
    pub(super) mode: Mode,
    /// The agent's configuration as the latest step read it.
    pub(super) config: Arc<AgentConfig>,
    pub(super) tally: Tally,
    pub(super) stuck: LoopDetector,
    pub(super) health: TurnHealth,
    /// Who gave the latest answer.
    pub(super) answered_by: Option<Target>,
    pub(super) context_meter: ContextMeter,
    /// The room that the latest request was made for, in tokens.
    pub(super) room_before: u64,
    pub(super) compaction: Compaction,
    /// What was left out of the requests of this step, and is still in the ledger.
    pub(super) left_out: Option<LeftOut>,
    /// Rows that wait to be stored with the next step.
    pub(super) attached: AttachedRows,
    pub(super) saved: Option<usize>,
}

/// What a turn has cost so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tally {
    pub(super) steps: u32,
    pub(super) usage: Usage,
    pub(super) cost: Cost,
}

impl Tally {
    /// Adds an attempt; a price that is not known makes the sum unknown, unless nothing was used.
    pub(super) fn add(&mut self, usage: Usage, cost: Cost) {
        self.usage += usage;
        self.cost = match (self.cost, cost) {
            (Cost::Usd(a), Cost::Usd(b)) => Cost::Usd(a + b),
            (so_far, Cost::Unknown) if usage == Usage::default() => so_far,
            (Cost::Unknown, _) | (_, Cost::Unknown) => Cost::Unknown,
        };
    }
}

/// Summaries of the older part of the conversation.
#[derive(Default)]
pub(super) struct Compaction {
    pub(super) running: Option<UnderWay>,
    /// One came to nothing: not tried again in this turn.
    pub(super) failed: bool,
}

/// A conversation that was shortened for a request which no model has answered yet.
pub(super) struct LeftOut {
    /// The whole conversation, as the ledger has it.
    pub(super) whole: Arc<Vec<Item>>,
    /// Messages of it that the request leaves out.
    pub(super) count: usize,
}

/// A summary that is being made.
pub(super) struct UnderWay {
    /// Items the summary will stand for, from the first.
    pub(super) cut: usize,
    pub(super) summary: AbortOnDropHandle<Option<Summarised>>,
    pub(super) stop: CancellationToken,
}

/// How the work of a turn came to an end.
pub(super) enum Outcome {
    /// There is an answer.
    Answer {
        answer: Assistant,
        exit: EndReason,
        /// A line under it, where it is not all that it could be.
        remark: Option<String>,
        citations: Vec<(String, String)>,
    },
    /// There is none.
    None {
        exit: EndReason,
        /// The last thing that went wrong, for people.
        error: String,
    },
}

impl Turn {
    /// Its id.
    pub(super) fn turn_id(&self) -> TurnId {
        self.reference.turn
    }

    /// Adds an item that the ledger has already.
    pub(super) fn push(&mut self, item: Item) {
        if let Some(left_out) = &mut self.left_out {
            Arc::make_mut(&mut left_out.whole).push(item.clone());
        }
        let items = Arc::make_mut(&mut self.items);
        items.push(item);
        self.len.store(items.len(), Ordering::Relaxed);
    }

    /// Puts other items in the place of all, as the ledger has done already.
    pub(super) fn replace(&mut self, items: Vec<Item>) {
        self.len.store(items.len(), Ordering::Relaxed);
        self.items = Arc::new(items);
        self.context_meter.replaced();
    }

    /// Says what goes on now.
    pub(super) fn doing(&self, doing: impl Into<String>) {
        let doing = doing.into();
        let tally = self.tally;
        self.progress.send_modify(|progress| {
            progress.doing = doing;
            progress.step = tally.steps;
            progress.usage = tally.usage;
            progress.cost = tally.cost;
        });
    }

    /// Closes the books: what the actor gets back, and people told where the ledger failed.
    pub(super) fn into_end(mut self, ended: Result<Option<Inbound>, StoreError>) -> TurnEnd {
        self.steered.close();
        let mut leftover: Vec<Inbound> = self.joining.take().into_iter().collect();
        leftover.extend(ended.iter().flatten().cloned());
        while let Ok(message) = self.steered.try_recv() {
            leftover.push(message);
        }
        let items = match ended {
            Ok(_) => Some(self.items),
            Err(error) => {
                self.deps
                    .ledger_failed(self.reference.channel, self.reference.reply_to, &error);
                None
            }
        };
        TurnEnd {
            calibration: self
                .context_meter
                .learned_of(items.as_deref().map_or(0, Vec::len)),
            items,
            leftover,
            saved: self.saved,
        }
    }
}
