//! A turn at work: what it is made from, what it holds, what it leaves.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::domain::{
    AgentConfig, Assistant, ChannelId, ConversationId, Inbound, Item, ToolCall, TurnId, UserId,
};
use crate::llm::Target;
use crate::llm::route::TurnHealth;
use crate::store::StoreError;

use super::super::end_reason::EndReason;
use super::super::event::{Progress, TurnRef};
use super::super::mailbox::Trigger;
use super::super::stop::StopSignal;
use super::super::stuck::LoopDetector;
use super::super::work_clock::WorkClock;
use super::books::Accounting;
use super::context::TurnContext;
use super::context_meter::Calibration;
use super::live::{Inbox, LiveStatus};
use super::transcript::Transcript;

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
    pub(super) context: TurnContext,
    pub(super) transcript: Transcript,
    pub(super) inbox: Inbox,
    pub(super) live: LiveStatus,
    pub(super) books: Accounting,
    pub(super) clock: WorkClock,
    /// Everyone whose messages are in the turn.
    pub(super) people: Vec<UserId>,
    /// The agent's configuration as the latest step read it.
    pub(super) config: Arc<AgentConfig>,
    pub(super) stuck: LoopDetector,
    pub(super) health: TurnHealth,
    /// Who gave the latest answer.
    pub(super) answered_by: Option<Target>,
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
    /// Says what goes on now.
    pub(super) fn doing(&self, doing: impl Into<String>) {
        self.live.doing(self.books.tally, doing);
    }

    /// Shows a call that is about to run.
    pub(super) fn shows_call(&self, call: &ToolCall) {
        self.doing(format!("Running {}", call.name));
        self.note_recent(call);
    }

    /// Keeps the latest calls for the live status.
    pub(super) fn note_recent(&self, call: &ToolCall) {
        let redactor = &self.context.deps.services.redactor;
        self.live.note_recent(call, redactor);
    }

    /// Closes the books: what the actor gets back, and people told where the ledger failed.
    pub(super) fn into_end(self, ended: Result<Option<Inbound>, StoreError>) -> TurnEnd {
        let (items, late) = match ended {
            Ok(late) => (Some(self.transcript.items), late),
            Err(error) => {
                let TurnRef {
                    channel, reply_to, ..
                } = self.context.reference;
                self.context.deps.ledger_failed(channel, reply_to, &error);
                (None, None)
            }
        };
        let meter = self.transcript.context_meter;
        TurnEnd {
            calibration: meter.learned_of(items.as_deref().map_or(0, Vec::len)),
            items,
            leftover: self.inbox.close(late),
            saved: self.transcript.saved,
        }
    }
}
