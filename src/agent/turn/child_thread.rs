//! What people read about a child turn in a thread of its own: its task, a line for each step, its report.
//!
//! The thread is opened while the child works already, and archived after its last words.

use tokio::sync::mpsc;
use tracing::warn;

use super::Turn;
use super::children::BegunChild;
use super::context::ShownHere;
use super::offer::Assignment;
use super::reply::{self, Footer};
use crate::agent::deps::identity::Identity;
use crate::agent::event::{ChildThread, Event};
use crate::domain::Assistant;
use crate::store::{NewPart, PartKind};
use crate::text::{self, escape};

/// Characters of a thread's name.
const NAME: usize = 100;

/// Characters of what a model says beside its calls.
const SAID: usize = 200;

/// Sends what is said in a child's thread, except its last words, which are stored with its end. The thread ends when all
/// clones are dropped.
pub(super) type Says = mpsc::UnboundedSender<Vec<NewPart>>;

impl Turn {
    /// What the readers of the channel are shown of a child turn for this assignment. Where it works as another agent, its words
    /// are shown only if all of them may talk to that agent.
    pub(super) async fn shown_of(&self, assignment: &Assignment) -> ShownHere {
        let Some(other) = &assignment.agent else {
            return self.context.shown;
        };
        let deps = &self.context.deps;
        if deps.words_may_be_read(other, self.context.payer()).await {
            self.context.shown
        } else {
            ShownHere::Progress
        }
    }

    /// Has a thread opened for a child turn, and says there what its task is; `None` where the agent has no such threads,
    /// and where not everyone who reads the channel is to see its words.
    pub(super) async fn open_thread(
        &self,
        assignment: &Assignment,
        begun: &BegunChild,
        shown: ShownHere,
    ) -> Option<Says> {
        let wanted = self.setup.payer().config.child_threads;
        if !wanted.unwrap_or_default() || self.context.run.hides_words() {
            return None;
        }
        if shown == ShownHere::Progress {
            if let Some(other) = &assignment.agent {
                self.tell_without_thread(other).await;
            }
            return None;
        }
        let role = &assignment.role.name;
        let name = match assignment.title.trim() {
            "" => role.clone(),
            title => format!("{role} · {}", text::visible(title).0),
        };
        let (says, said) = mpsc::unbounded_channel();
        let thread = ChildThread {
            turn: begun.new.turn.id,
            conversation: begun.conversation,
            below: self.context.payer().channel,
            name: text::one_line(&name, NAME),
            said,
        };
        self.context.deps.emit(Event::ChildBegan(Box::new(thread)));
        let _ = says.send(self.as_parts(&assignment.words.text, &Footer::default()));
        Some(says)
    }

    /// Says in the channel why another agent works without a thread; once for both agents since the start.
    async fn tell_without_thread(&self, other: &Identity) {
        let deps = &self.context.deps;
        let pair = (self.context.payer().id, other.id);
        if !deps.without_thread.lock().insert(pair) {
            return;
        }
        let line = format!(
            "-# {} works without a thread: not everyone who reads this channel may talk to it.",
            text::code_span(&format!("@{}", other.name))
        );
        let channel = self.context.reference.channel;
        for part in self.silent(&line) {
            match deps.store.post(channel, None, part).await {
                Ok(_) => deps.emit(Event::Outbox(channel)),
                Err(error) => {
                    warn!(channel.id = %channel, "failed to store why a sub-agent has no thread: {error}");
                }
            }
        }
    }

    /// Says in its thread what this step does.
    pub(super) fn tell_step(&self, answer: &Assistant) {
        let Some(thread) = self.thread() else {
            return;
        };
        let mut line = format!("-# step {}", self.accounting.tally.steps);
        for call in &answer.tool_calls {
            line.push_str(&format!(" · {}", escape::text(&call.meant().name)));
        }
        let redactor = &self.context.deps.services.redactor;
        let said = text::one_line(&text::visible(&redactor.redact(&answer.text)).0, SAID);
        if !said.is_empty() {
            line.push_str(&format!(" · {}", escape::text(&said)));
        }
        let _ = thread.send(self.silent(&line));
    }

    /// Says in its thread that a person's message reached it.
    pub(super) fn tell_taken_in(&self) {
        if let Some(thread) = self.thread() {
            let line = format!(
                "-# Taken in before step {}.",
                self.accounting.tally.steps + 1
            );
            let _ = thread.send(self.silent(&line));
        }
    }

    /// Its report as the last message of its thread; nothing where it has no thread.
    pub(super) fn last_in_thread(&self, heading: &str, report: &str) -> Vec<NewPart> {
        if self.thread().is_none() {
            return Vec::new();
        }
        let footer = Footer {
            line: Some(heading.trim_matches(['[', ']']).to_owned()),
            ..Footer::default()
        };
        last(self.as_parts(report, &footer))
    }

    fn thread(&self) -> Option<&Says> {
        self.context.child.as_ref()?.thread.as_ref()
    }

    fn as_parts(&self, text: &str, footer: &Footer) -> Vec<NewPart> {
        let text = self.context.deps.services.redactor.redact(text);
        let mut parts = reply::parts(&text, footer, PartKind::Reply, None);
        parts.iter_mut().for_each(|part| part.body.is_silent = true);
        parts
    }

    fn silent(&self, line: &str) -> Vec<NewPart> {
        self.as_parts(line, &Footer::default())
    }
}

/// The last words in a thread.
pub(super) fn last(mut parts: Vec<NewPart>) -> Vec<NewPart> {
    if let Some(part) = parts.last_mut() {
        part.body.archives = true;
    }
    parts
}
