//! A running turn for others: what they see of it, and what they write to it.

use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::thread::Thread;
use crate::agent::deps::unstored::Tally;
use crate::agent::event::{ChildProgress, Progress, Speech};
use crate::domain::{Inbound, ToolCall, TurnId};
use crate::text::redact::Redactor;
use crate::tools::ProgressTeller;

/// Commands and calls shown in the live status.
const RECENT: usize = 5;

/// Characters shown of what a child's model said.
const SAID: usize = 80;

/// What others see of a turn. None of it is promised: it may be lost.
pub(in crate::agent) struct LiveStatus {
    pub(in crate::agent) progress: watch::Sender<Progress>,
    pub(in crate::agent) speech: watch::Sender<Speech>,
    /// The status line of a child turn.
    pub(in crate::agent) node: Option<Node>,
    /// Its thread, where it has one.
    pub(in crate::agent) thread: Option<Thread>,
}

/// The status line of a child turn among those of its run. Dropping this removes it.
pub(in crate::agent) struct Node {
    /// The live status of the run's root.
    pub(in crate::agent) root: watch::Sender<Progress>,
    pub(in crate::agent) turn: TurnId,
}

impl Node {
    fn change(&self, change: impl FnOnce(&mut ChildProgress)) {
        self.root.send_modify(|progress| {
            let mut children = progress.children.iter_mut();
            if let Some(child) = children.find(|child| child.turn == self.turn) {
                change(child);
            }
        });
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.root
            .send_modify(|progress| progress.children.retain(|child| child.turn != self.turn));
    }
}

impl LiveStatus {
    /// The step whose words are being said.
    pub(in crate::agent) fn step(&self) -> u32 {
        self.speech.borrow().step
    }

    /// The step is over: what is said next belongs to another.
    pub(in crate::agent) fn ends_speech(&self) {
        self.speech.send_modify(|speech| {
            speech.step += 1;
            speech.text.clear();
        });
    }

    /// Whether a person is being asked from now on.
    pub(in crate::agent) fn asks(&self, is_asking: bool) {
        self.progress
            .send_modify(|progress| progress.is_asking = is_asking);
    }

    pub(in crate::agent) fn doing(&self, tally: Tally, doing: impl Into<String>) {
        let doing = doing.into();
        if let Some(node) = &self.node {
            node.change(|child| {
                child.doing.clone_from(&doing);
                (child.step, child.cost) = (tally.steps, tally.cost);
                if doing.starts_with("Thinking") {
                    child.said.clear();
                }
            });
        }
        self.progress.send_modify(|progress| {
            progress.doing = doing;
            progress.step = tally.steps;
            progress.usage = tally.usage;
            progress.cost = tally.cost;
        });
    }

    /// Shows how far a call of this turn is.
    pub(in crate::agent) fn teller(&self) -> ProgressTeller {
        let own = self.progress.clone();
        let above = self
            .node
            .as_ref()
            .map(|node| (node.root.clone(), node.turn));
        ProgressTeller::new(move |line| {
            if let Some((root, turn)) = &above {
                root.send_modify(|progress| {
                    let mut children = progress.children.iter_mut();
                    if let Some(child) = children.find(|child| child.turn == *turn) {
                        child.doing.clone_from(&line);
                    }
                });
            }
            own.send_modify(|progress| progress.doing = line);
        })
    }

    /// Keeps what a child's model said beside its calls, until its next step.
    pub(in crate::agent) fn said(&self, text: &str) {
        if let Some(node) = &self.node {
            let said = crate::text::one_line(text, SAID);
            node.change(|child| child.said = said);
        }
    }

    /// Keeps the latest calls for the live status, each with the first of its arguments that is among `telling`.
    pub(in crate::agent) fn note_recent(
        &self,
        call: &ToolCall,
        mut telling: impl Iterator<Item = &'static str>,
        redactor: &Redactor,
    ) {
        let telling = telling.find_map(|key| call.arguments.get(key).and_then(Value::as_str));
        // Cut afterwards: what is left of a secret is not known for one.
        let line = match telling.map(|text| redactor.redact(text)) {
            Some(text) => format!("{} {}", call.name, crate::text::one_line(&text, 80)),
            None => call.name.clone(),
        };
        self.progress.send_modify(|progress| {
            progress.recent.push(line);
            let over = progress.recent.len().saturating_sub(RECENT);
            progress.recent.drain(..over);
        });
    }
}

/// What others write to a turn.
pub(in crate::agent) struct Inbox {
    pub(in crate::agent) steered: mpsc::UnboundedReceiver<Box<Inbound>>,
    /// The message that is being taken in.
    pub(in crate::agent) joining: Option<Box<Inbound>>,
    /// Cancelled when something waits for the turn's end.
    pub(in crate::agent) wanted: CancellationToken,
}

impl Inbox {
    /// Takes no more, and returns what was not taken in; `late` had been received already.
    pub(in crate::agent) fn close(mut self, late: Option<Box<Inbound>>) -> Vec<Inbound> {
        self.steered.close();
        let waiting = std::iter::from_fn(|| self.steered.try_recv().ok());
        let left = self.joining.into_iter().chain(late).chain(waiting);
        left.map(|message| *message).collect()
    }
}
