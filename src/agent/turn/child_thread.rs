//! What people read about a child turn in a thread of its own: its task, a line for each step, its report.
//!
//! The thread is opened while the child works already, and archived after its last words.

use tokio::sync::mpsc;

use super::Turn;
use super::children::BegunChild;
use super::offer::Assignment;
use super::reply::{self, Footer};
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
    /// Has a thread opened for a child turn, and says there what its task is; `None` where the agent has no such threads,
    /// and where nobody is to see words before the answer.
    pub(super) fn open_thread(&self, assignment: &Assignment, begun: &BegunChild) -> Option<Says> {
        let wanted = self.setup.payer().config.child_threads;
        if !wanted.unwrap_or_default() || self.context.run.hides_words() {
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
