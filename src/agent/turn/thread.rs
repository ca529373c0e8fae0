//! What people read about a turn in a thread of its own, where it has one: a line for each step, then its last words.

use tokio::sync::mpsc;

use super::end::reply::{self, Footer};
use crate::domain::Assistant;
use crate::store::{NewPart, PartKind};
use crate::text::redact::Redactor;
use crate::text::{self, escape};

/// Characters of what a model says beside its calls.
const SAID: usize = 200;

/// Sends what is said in the thread of a turn, except its last words, which are stored with its end. The thread ends when
/// this is dropped.
#[derive(Debug)]
pub(in crate::agent) struct Thread(mpsc::UnboundedSender<Vec<NewPart>>);

impl Thread {
    /// A thread that begins with the turn's `task`, and where its words come out.
    pub(in crate::agent) fn new(
        task: &str,
        redactor: &Redactor,
    ) -> (Self, mpsc::UnboundedReceiver<Vec<NewPart>>) {
        let (says, said) = mpsc::unbounded_channel();
        let _ = says.send(as_parts(task, &Footer::default(), redactor));
        (Self(says), said)
    }

    /// Says what a step does.
    pub(in crate::agent) fn step(&self, number: u32, answer: &Assistant, redactor: &Redactor) {
        let mut line = format!("-# step {number}");
        for call in &answer.tool_calls {
            line.push_str(&format!(" · {}", escape::text(&call.meant().name)));
        }
        let said = text::one_line(&text::visible(&redactor.redact(&answer.text)).0, SAID);
        if !said.is_empty() {
            line.push_str(&format!(" · {}", escape::text(&said)));
        }
        let _ = self.0.send(silent(&line, redactor));
    }

    /// Says that a person's message reached the turn before a step.
    pub(in crate::agent) fn taken_in(&self, step: u32, redactor: &Redactor) {
        let line = format!("-# Read before step {step}.");
        let _ = self.0.send(silent(&line, redactor));
    }
}

/// The last words in a thread, as parts.
pub(in crate::agent) fn last(mut parts: Vec<NewPart>) -> Vec<NewPart> {
    if let Some(part) = parts.last_mut() {
        part.body.archives = true;
    }
    parts
}

/// A line as parts that notify nobody.
pub(in crate::agent) fn silent(line: &str, redactor: &Redactor) -> Vec<NewPart> {
    as_parts(line, &Footer::default(), redactor)
}

/// A text with a footer as parts that notify nobody.
pub(in crate::agent) fn as_parts(text: &str, footer: &Footer, redactor: &Redactor) -> Vec<NewPart> {
    let text = redactor.redact(text);
    let mut parts = reply::parts(&text, footer, PartKind::Reply, None);
    parts.iter_mut().for_each(|part| part.body.is_silent = true);
    parts
}
