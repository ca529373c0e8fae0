//! One turn: from the words that start it to its one outcome.
//!
//! ```text
//! begin (D2) ─▶ ┌ steered messages ▸ limits ▸ window ▸ ask the model (D3) ▸ tool calls (D4 to D7) ┐ ─▶ finish (D8)
//!               └────────────────────────────────── again, until it answers ─────────────────────┘
//! ```
//!
//! Nothing is shown before it is stored. Whatever happens, a turn that began ends with exactly one exit reason,
//! and the people in the channel are told the outcome.

mod attachments;
mod begin;
mod calls;
mod finish;
mod question;
mod request;
mod steps;
mod window;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::domain::{
    AgentConfig, ChannelId, ConversationId, Cost, Inbound, Item, TurnId, Usage, UserId,
};
use crate::store::{Alongside, StoreError};

use super::event::{Progress, TurnRef};
use super::exit::Exit;
use super::mailbox::{Mode, Trigger};
use super::parts::{Identity, Parts};
use super::stop::StopSignal;
use super::stuck::Watch;
use super::work_clock::WorkClock;

pub(super) use finish::close_broken;
pub(super) use window::{Learned, summary_item};

/// What a turn is made from.
pub(super) struct Seed {
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
    pub learned: Learned,
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
pub(super) struct TurnEnd {
    /// The conversation's items; none where they must be read from the ledger anew.
    pub items: Option<Arc<Vec<Item>>>,
    /// Messages that came too late to be taken in.
    pub leftover: Vec<Inbound>,
    /// How many items the latest save holds, where the turn changed that.
    pub saved: Option<usize>,
    /// What the turn learned of the conversation's size.
    pub learned: Learned,
}

/// A turn at work.
pub(super) struct Turn {
    parts: Arc<Parts>,
    agent: Arc<Identity>,
    reference: TurnRef,
    conversation: ConversationId,
    branch: Option<u32>,
    items: Arc<Vec<Item>>,
    len: Arc<AtomicUsize>,
    steered: mpsc::UnboundedReceiver<Inbound>,
    stop: StopSignal,
    wanted: CancellationToken,
    progress: watch::Sender<Progress>,
    preview: watch::Sender<String>,
    clock: WorkClock,
    /// Everyone whose messages are in the turn.
    people: Vec<UserId>,
    depth: u8,
    origin: TurnId,
    model: Option<String>,
    mode: Mode,
    /// The agent's configuration as the latest step read it.
    config: Arc<AgentConfig>,
    tally: Tally,
    stuck: Watch,
    request: request::State,
    window: window::State,
    /// Rows that wait to be stored with the next step.
    alongside: Alongside,
    saved: Option<usize>,
}

/// What a turn has cost so far.
#[derive(Clone, Copy, Debug)]
struct Tally {
    steps: u32,
    usage: Usage,
    cost: Cost,
}

impl Tally {
    /// Adds an attempt; a price that is not known makes the sum unknown, unless nothing was used.
    fn add(&mut self, usage: Usage, cost: Cost) {
        self.usage += usage;
        self.cost = match (self.cost, cost) {
            (Cost::Usd(a), Cost::Usd(b)) => Cost::Usd(a + b),
            (so_far, Cost::Unknown) if usage == Usage::default() => so_far,
            (Cost::Unknown, _) | (_, Cost::Unknown) => Cost::Unknown,
        };
    }
}

/// How the work of a turn came to an end.
enum Outcome {
    /// There is an answer.
    Answer {
        answer: crate::domain::Assistant,
        exit: Exit,
        /// A line under it, where it is not all that it could be.
        remark: Option<String>,
        citations: Vec<(String, String)>,
    },
    /// There is none.
    None {
        exit: Exit,
        /// The last thing that went wrong, for people.
        error: String,
    },
}

/// Runs a turn to its end.
pub(super) async fn run(
    parts: Arc<Parts>,
    agent: Arc<Identity>,
    others: Vec<String>,
    seed: Seed,
) -> TurnEnd {
    let channel = seed.channel;
    let emit = parts.clone();
    match begin::begin(parts, agent, others, seed).await {
        Ok(begin::Begun::Turn(mut turn)) => {
            let ended = match turn.work().await {
                Ok(outcome) => turn.finish(outcome).await,
                Err(error) => Err(error),
            };
            let settled = match ended {
                Ok(()) => turn.settle().await,
                Err(error) => Err(error),
            };
            turn.into_end(settled)
        }
        Ok(begin::Begun::Not(end)) => end,
        Err(error) => {
            emit.ledger_failed(channel, None, &error);
            TurnEnd::default()
        }
    }
}

impl Turn {
    /// Adds an item that the ledger has already.
    fn push(&mut self, item: Item) {
        let items = Arc::make_mut(&mut self.items);
        items.push(item);
        self.len.store(items.len(), Ordering::Relaxed);
    }

    /// Puts other items in the place of all, as the ledger has done already.
    fn replace(&mut self, items: Vec<Item>) {
        self.len.store(items.len(), Ordering::Relaxed);
        self.items = Arc::new(items);
        self.window.replaced();
    }

    /// Says what goes on now.
    fn doing(&self, doing: impl Into<String>) {
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
    fn into_end(mut self, ended: Result<Option<Inbound>, StoreError>) -> TurnEnd {
        self.steered.close();
        let mut leftover: Vec<Inbound> = ended.iter().flatten().cloned().collect();
        while let Ok(message) = self.steered.try_recv() {
            leftover.push(message);
        }
        let items = match ended {
            Ok(_) => Some(self.items),
            Err(error) => {
                self.parts
                    .ledger_failed(self.reference.channel, self.reference.reply_to, &error);
                None
            }
        };
        TurnEnd {
            learned: self.window.learned_of(items.as_deref().map_or(0, Vec::len)),
            items,
            leftover,
            saved: self.saved,
        }
    }
}
