//! One turn: from the words that start it to its one outcome.
//!
//! ```text
//! begin (D2) ─▶ ┌ steered messages ▸ limits ▸ window ▸ ask the model (D3) ▸ tool calls (D4 to D7) ┐ ─▶ finish (D8)
//!               └────────────────────────────────── again, until it answers ─────────────────────┘
//! ```
//!
//! Nothing is shown before it is stored. Whatever happens, a turn that began ends with exactly one exit reason,
//! and the people in the channel are told the outcome.

pub(super) mod accounting;
pub(super) mod admission;
mod attachments;
pub(super) mod begin;
pub(super) mod context;
mod context_meter;
pub(super) mod end;
pub(super) mod host;
mod incoming;
mod kept;
pub(super) mod last_words;
pub(super) mod live;
pub(super) mod log;
pub(super) mod policy;
pub(super) mod prompt;
pub(super) mod reading;
pub(super) mod ready;
pub(super) mod request;
pub(super) mod resume;
pub(super) mod shared_run;
mod steps;
mod stuck;
pub(super) mod thread;
pub(super) mod transcript;
pub(super) mod trigger;
mod window;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use self::accounting::{Accounting, Below};
use self::context::{ChildSide, TIME_OF_STAGE, TimeOfChild, TurnContext};
use self::live::{Inbox, LiveStatus};
use self::resume::Rerun;
use self::stuck::LoopDetector;
use self::transcript::Transcript;
use crate::agent::deps::Limits;
use crate::agent::deps::unstored::Tally;
use crate::agent::event::Progress;
use crate::agent::files::DocsAndInstructions;
use crate::agent::files::seed::Seed;
use crate::agent::models::budget::Reservation;
use crate::agent::setup::Setup;
use crate::agent::setup::modes;
use crate::agent::stop::StopSignal;
use crate::agent::stop::work_clock::WorkClock;
use crate::domain::{
    AgentConfig, ChannelId, ConversationId, Inbound, Item, Mode, ToolCall, TurnId,
};
use crate::llm::Target;
use crate::llm::route::Unseen;
use crate::store::{BudgetOfDay, ChildKind};
use crate::tools::Shelf;

pub(super) use self::context_meter::Calibration;
pub(super) use self::end::Outcome;

/// Where a turn belongs, and what it shares with the conversation.
pub(super) struct TurnParams {
    pub turn: TurnId,
    /// The conversation it runs in.
    pub conversation: ConversationId,
    pub branch: Option<u32>,
    pub channel: ChannelId,
    /// The role that the conversation works as.
    pub role: Option<String>,
    /// The conversation's items, when the actor had them in memory.
    pub items: Option<Arc<Vec<Item>>>,
    pub seed: Seed,
    /// What earlier turns learned about its size.
    pub calibration: Calibration,
    /// Kept at their number.
    pub len: Arc<AtomicUsize>,
    /// Whether notes wait for it.
    pub has_kept_notes: Arc<AtomicBool>,
    /// Messages that come while it runs.
    pub steered: mpsc::UnboundedReceiver<Box<Inbound>>,
    /// Receives messages to its child turns that arrived too late.
    pub strays: mpsc::UnboundedSender<Box<Inbound>>,
    pub stop: StopSignal,
    /// Cancelled when something waits for the turn's end.
    pub wanted: CancellationToken,
    /// Where it says how far it is.
    pub progress: watch::Sender<Progress>,
}

/// The model that gave the latest answer.
pub(super) struct AnsweredBy {
    pub target: Target,
    /// The pictures it did not get; `newly` counts those of all steps.
    pub unseen: Unseen,
}

/// What the actor gets back.
#[derive(Default)]
pub(super) struct TurnEnd {
    /// The conversation's items; `None` where they must be read from the ledger again.
    pub items: Option<Arc<Vec<Item>>>,
    /// Messages that arrived too late for the turn.
    pub leftover: Vec<Inbound>,
    /// How many items the latest save holds, where the turn changed that.
    pub saved: Option<usize>,
    /// What the turn learned about the conversation's size.
    pub calibration: Calibration,
    /// The agent's configuration as its last step read it.
    pub config: Option<Arc<AgentConfig>>,
    /// It was the run of a schedule, of which people saw nothing.
    pub said_nothing: bool,
}

/// A turn at work.
pub(super) struct Turn {
    pub(super) context: TurnContext,
    pub(super) transcript: Transcript,
    pub(super) inbox: Inbox,
    pub(super) live: LiveStatus,
    pub(super) accounting: Accounting,
    pub(super) clock: WorkClock,
    /// The agent as the latest step read its files.
    pub(super) setup: Setup,
    /// The texts of its folder, if they were read together with `setup` and no request holds them yet.
    docs_now: Option<DocsAndInstructions>,
    /// What its requests say of earlier conversations.
    pub(super) seed: Option<Arc<str>>,
    /// The tools that the latest step's model knew by name alone.
    pub(super) shelf: Arc<Shelf>,
    /// What its next request was promised while others worked for it.
    last_words: Option<Reservation>,
    /// Calls to run again before the first request.
    pub(super) rerun: Option<Rerun>,
    stuck: LoopDetector,
    /// What others have spent for it since the latest step.
    pub(super) below: Mutex<Below>,
    /// Who gave the latest answer.
    pub(super) answered_by: Option<AnsweredBy>,
    /// The budget that a request of it would have exceeded, where people can raise it.
    pub(super) used_up: Option<BudgetOfDay>,
    /// It was the run of a schedule, of which people saw nothing.
    pub(super) said_nothing: bool,
}

impl Turn {
    /// A turn that has used nothing yet. Its clock starts below that of the turn that it works for, if any.
    pub(super) fn new(
        context: TurnContext,
        transcript: Transcript,
        inbox: Inbox,
        live: LiveStatus,
        clock: WorkClock,
        setup: Setup,
    ) -> Self {
        Self {
            accounting: Accounting::new(
                context.id(),
                context.deps.unstored.clone(),
                context.deps.beside.clone(),
            ),
            context,
            transcript,
            inbox,
            live,
            clock,
            setup,
            docs_now: None,
            seed: None,
            shelf: Arc::default(),
            last_words: None,
            rerun: None,
            stuck: LoopDetector::default(),
            below: Mutex::default(),
            answered_by: None,
            used_up: None,
            said_nothing: false,
        }
    }

    /// What it and all turns below it have spent.
    pub(super) fn whole(&self) -> Tally {
        let mut whole = self.accounting.tally;
        let below = self.below.lock().tally;
        whole.add(below.usage, below.cost);
        whole
    }

    /// Its mode, by the files as they are now.
    pub(super) fn mode(&self) -> Mode {
        self.setup.mode(self.context.asked_mode)
    }

    /// Its limits, by the files as they are now.
    pub(super) fn limits(&self) -> Limits {
        let limits = self
            .context
            .deps
            .limits_of(&self.context.agent, &self.setup);
        let before = &self.context.before;
        let limits = Limits {
            steps: limits.steps.saturating_sub(before.steps),
            work: modes::work(self.mode(), limits.work).saturating_sub(before.worked),
            tokens: limits
                .tokens
                .map(|most| most.saturating_sub(before.tokens())),
            ..limits
        };
        match &self.context.child {
            None => limits_of_branch(&self.context, limits),
            Some(child) => limits_of_child(self, child, limits),
        }
    }

    /// Working time that the turn has left.
    pub(super) fn time_left(&self) -> Duration {
        self.limits().work.saturating_sub(self.clock.worked())
    }

    pub(super) fn doing(&self, doing: impl Into<String>) {
        self.live.doing(self.whole(), doing);
    }

    /// Shows a call that is about to run.
    pub(super) fn shows_call(&self, call: &ToolCall) {
        self.doing(format!("Running {}", call.name));
        self.note_recent(call);
    }

    /// Keeps the latest calls for the live status.
    pub(super) fn note_recent(&self, call: &ToolCall) {
        let redactor = &self.context.deps.services.redactor;
        // Arguments are words of the model, which may have to pass a role first.
        let telling: &[&'static str] = if self.context.run.hides_words() {
            &[]
        } else {
            &["command", "path", "url", "message"]
        };
        self.live
            .note_recent(call, telling.iter().copied(), redactor);
    }

    /// What the actor gets back. The message `late` was received, but not taken in.
    pub(super) fn into_end(self, late: Option<Box<Inbound>>) -> TurnEnd {
        let meter = self.transcript.context_meter;
        TurnEnd {
            calibration: meter.learned_of(self.transcript.items.len()),
            items: Some(self.transcript.items),
            leftover: self.inbox.close(late),
            saved: self.transcript.saved,
            config: Some(self.setup.config),
            said_nothing: self.said_nothing,
        }
    }
}

/// The limits of a child: those of its role, else of the configuration, and never wider than its parent's.
fn limits_of_child(turn: &Turn, child: &ChildSide, limits: Limits) -> Limits {
    let defaults = turn.context.orchestration();
    let own = turn.setup.role.as_ref().map(|role| role.limits);
    let own = own.unwrap_or_default();
    let steps = own.max_steps.unwrap_or(defaults.child_steps.get());
    let work = own.timeout.unwrap_or(match child.kind {
        ChildKind::Advisor => TIME_OF_STAGE,
        ChildKind::SubAgent | ChildKind::Route | ChildKind::Handoff => defaults.child_timeout.get(),
    });
    let most = match &child.time {
        TimeOfChild::Shared(above) => turn.clock.worked() + above.left(),
        TimeOfChild::Own(time) => *time,
    };
    Limits {
        steps: steps.min(limits.steps),
        work: modes::work(turn.mode(), work).min(most),
        ..limits
    }
}

/// The limits of a turn of a branch with a role: no longer than the role allows.
fn limits_of_branch(context: &TurnContext, limits: Limits) -> Limits {
    let most = context.lineage.last().map(|role| role.limits.timeout);
    let most = most.flatten().unwrap_or(limits.work);
    Limits {
        work: limits.work.min(most),
        ..limits
    }
}
