//! One turn: from the words that start it to its one outcome.
//!
//! ```text
//! begin (D2) ─▶ ┌ steered messages ▸ limits ▸ window ▸ ask the model (D3) ▸ tool calls (D4 to D7) ┐ ─▶ finish (D8)
//!               └────────────────────────────────── again, until it answers ─────────────────────┘
//! ```
//!
//! Nothing is shown before it is stored. Whatever happens, a turn that began ends with exactly one exit reason,
//! and the people in the channel are told the outcome.

mod accounting;
mod attachments;
mod begin;
mod broken;
mod calls;
mod child;
mod child_thread;
mod children;
mod context;
mod context_meter;
pub(super) mod end_reason;
mod endings;
mod finish;
pub(super) mod heading;
mod in_its_place;
mod incoming;
mod kept;
pub(super) mod last_line;
mod last_words;
mod live;
mod log;
mod offer;
mod policy;
mod prompt;
mod question;
mod reading;
mod ready;
mod reply;
mod report;
mod request;
mod run;
mod stages;
mod steps;
mod stuck;
mod transcript;
pub(super) mod trigger;
mod unclosed;
mod window;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};
use tokio_util::sync::CancellationToken;

use self::accounting::{Accounting, Below};
use self::child::EndedChild;
use self::context::TurnContext;
use self::end_reason::EndReason;
use self::live::{Inbox, LiveStatus};
use self::offer::{NotCalled, Offer};
use self::report::OwedReport;
use self::stages::Stages;
use self::stuck::LoopDetector;
use self::transcript::Transcript;
use self::trigger::Trigger;
use crate::agent::deps::identity::Identity;
use crate::agent::deps::unstored::Tally;
use crate::agent::deps::{AgentDeps, Limits};
use crate::agent::event::Progress;
use crate::agent::files::DocsAndInstructions;
use crate::agent::files::seed::Seed;
use crate::agent::models::budget::Reservation;
use crate::agent::setup::Setup;
use crate::agent::setup::modes;
use crate::agent::stop::StopSignal;
use crate::agent::stop::work_clock::WorkClock;
use crate::domain::{
    AgentConfig, Assistant, ChannelId, ConversationId, Inbound, Item, Mode, ToolCall, TurnId,
};
use crate::llm::Target;
use crate::store::StoreError;
use crate::tools::{ResultRoom, Shelf};

pub(super) use self::broken::{BROKEN, close_broken};
pub(super) use self::context_meter::Calibration;

/// Runs a turn to its end.
pub(super) async fn run(
    deps: Arc<AgentDeps>,
    agent: Arc<Identity>,
    others: Vec<String>,
    trigger: Trigger,
    params: TurnParams,
) -> TurnEnd {
    deps.close_former().await;
    match begin::begin(deps, agent, others, trigger, params).await {
        begin::Begun::Turn(mut turn, worker) => {
            let ended = match turn.answer(worker).await {
                Ok(outcome) => turn.finish(outcome).await,
                Err(error) => Err(error),
            };
            let settled = match ended {
                Ok(()) => turn.settle().await,
                Err(error) => Err(error),
            };
            turn.into_end(settled).await
        }
        begin::Begun::Not(end) => end,
    }
}

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
}

/// A turn at work.
struct Turn {
    context: TurnContext,
    transcript: Transcript,
    inbox: Inbox,
    live: LiveStatus,
    accounting: Accounting,
    clock: WorkClock,
    /// The agent as the latest step read its files.
    setup: Setup,
    /// The texts of its folder, if they were read together with `setup` and no request holds them yet.
    docs_now: Option<DocsAndInstructions>,
    /// What its requests say of earlier conversations.
    seed: Option<Arc<str>>,
    /// The tools that the latest step's model knew by name alone.
    shelf: Arc<Shelf>,
    /// What the results of this step's calls share; `None` with a single call that no child answers.
    results: Option<ResultRoom>,
    /// What its next request was promised while others worked for it.
    last_words: Option<Reservation>,
    stuck: LoopDetector,
    /// The roles that it may call.
    offer: Arc<Offer>,
    /// What its children have spent since the latest step.
    below: Mutex<Below>,
    /// Its permit to work, one of those that the children of the run share.
    place: Mutex<Option<OwnedSemaphorePermit>>,
    /// Who gave the latest answer.
    answered_by: Option<Target>,
    /// The stages around its work; `None` without any.
    stages: Option<Box<Stages>>,
    /// The child turn whose answer becomes its own; both end together.
    in_its_place: Option<EndedChild>,
    /// What it has so far of the report that its role owes.
    owed: OwedReport,
}

/// Who answers the words that a turn begins with.
enum Worker {
    Itself,
    /// A sub-agent with this role, in its place.
    Role(String),
    /// Nobody: its own role cannot be used.
    Nobody(NotCalled),
}

/// What a turn begins with.
struct TurnHead {
    context: TurnContext,
    transcript: Transcript,
    inbox: Inbox,
    live: LiveStatus,
    clock: WorkClock,
    setup: Setup,
    docs_now: Option<DocsAndInstructions>,
    /// Not looked at yet.
    offer: Offer,
    seed: Option<Arc<str>>,
}

/// How the work of a turn ended.
enum Outcome {
    Answer {
        answer: Assistant,
        exit: EndReason,
        /// A line under it, where it is not complete.
        remark: Option<String>,
        citations: Vec<(String, String)>,
    },
    /// An answer without everything that its role owes.
    Lacks {
        answer: String,
        /// Names of what lacks.
        missing: Vec<String>,
        exit: EndReason,
        /// The last error besides, for people.
        error: String,
    },
    None {
        exit: EndReason,
        /// The last error, for people.
        error: String,
    },
    /// There is an answer, but people do not get it.
    Withheld {
        exit: EndReason,
        /// What they are told instead.
        told: String,
    },
}

impl Turn {
    fn new(head: TurnHead) -> Self {
        let TurnHead {
            context,
            transcript,
            inbox,
            live,
            clock,
            setup,
            docs_now,
            offer,
            seed,
        } = head;
        Self {
            transcript,
            inbox,
            live,
            clock,
            setup,
            seed,
            docs_now,
            accounting: Accounting::new(
                context.id(),
                context.deps.unstored.clone(),
                context.deps.beside.clone(),
            ),
            offer: Arc::new(offer),
            below: Default::default(),
            place: Default::default(),
            shelf: Default::default(),
            results: None,
            last_words: None,
            stuck: Default::default(),
            answered_by: None,
            stages: None,
            in_its_place: None,
            owed: OwedReport::default(),
            context,
        }
    }

    /// Works until there is an outcome.
    async fn answer(&mut self, worker: Worker) -> Result<Outcome, StoreError> {
        match worker {
            Worker::Itself => {
                self.look_for_stages().await;
                self.look_for_roles_at_first();
                self.work_in_stages().await
            }
            Worker::Role(role) => self.have_role_answer(&role).await,
            Worker::Nobody(why) => Ok(Outcome::None {
                exit: EndReason::Failed,
                error: why.to_string(),
            }),
        }
    }

    /// What it and all turns below it have spent.
    fn whole(&self) -> Tally {
        let mut whole = self.accounting.tally;
        let below = self.below.lock().tally;
        whole.add(below.usage, below.cost);
        whole
    }

    /// Its mode, by the files as they are now.
    fn mode(&self) -> Mode {
        self.setup.mode(self.context.asked_mode)
    }

    /// Its limits, by the files as they are now.
    fn limits(&self) -> Limits {
        let limits = self
            .context
            .deps
            .limits_of(&self.context.agent, &self.setup);
        let limits = Limits {
            work: modes::work(self.mode(), limits.work),
            ..limits
        };
        match &self.context.child {
            None => self.limits_of_branch(limits),
            Some(child) => self.limits_of_child(child, limits),
        }
    }

    fn doing(&self, doing: impl Into<String>) {
        self.live.doing(self.whole(), doing);
    }

    /// Shows a call that is about to run.
    fn shows_call(&self, call: &ToolCall) {
        self.doing(format!("Running {}", call.name));
        self.note_recent(call);
    }

    /// Keeps the latest calls for the live status.
    fn note_recent(&self, call: &ToolCall) {
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

    /// What the actor gets back. Where the ledger failed, people are told.
    async fn into_end(self, ended: Result<Option<Box<Inbound>>, StoreError>) -> TurnEnd {
        let (items, late) = match ended {
            Ok(late) => (Some(self.transcript.items), late),
            Err(error) => {
                let TurnContext {
                    deps,
                    agent,
                    reference,
                    ..
                } = &self.context;
                deps.ledger_failed(reference.channel, reference.reply_to, &error);
                // Dropping these stores the costs that are not in the ledger yet.
                drop((self.accounting, self.stages, self.in_its_place));
                deps.close_unstored(agent, reference.turn).await;
                (None, None)
            }
        };
        let meter = self.transcript.context_meter;
        TurnEnd {
            calibration: meter.learned_of(items.as_deref().map_or(0, Vec::len)),
            items,
            leftover: self.inbox.close(late),
            saved: self.transcript.saved,
            config: Some(self.setup.config),
        }
    }
}
