//! The open questions, and how the latest ones ended.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use tokio::sync::oneshot;

use super::REMEMBERED;
use crate::agent::event::{Choice, Question, QuestionEnd};
use crate::discord::render::approval::{self, Ended};
use crate::discord::rest::body::Body;
use crate::domain::{MessageId, RoleId};
use crate::text::long;

#[derive(Default)]
pub(super) struct Book {
    /// By the id of the question, which is that of its first call.
    pub(super) asked: HashMap<i64, Asked>,
    /// The question of each call.
    pub(super) questions: HashMap<i64, i64>,
    pub(super) ended: VecDeque<(i64, QuestionEnd)>,
    /// Messages that were deleted while a question was being posted: one of them may be the question's.
    pub(super) deleted: VecDeque<MessageId>,
}

/// A question, until its message shows how all of it ended.
pub(super) struct Asked {
    pub(super) question: Box<Question>,
    /// How each of its calls ended, in their order.
    pub(super) ended: Vec<Option<Ended>>,
    /// The answers that the turn has, by call.
    pub(super) given: HashMap<i64, Given>,
    pub(super) message: Option<MessageId>,
    /// The press that decided some of its calls, until these have ended.
    pub(super) press: Option<Deciding>,
    /// Locked during an edit of the message, so that each edit shows the latest state.
    pub(super) edits: Arc<tokio::sync::Mutex<()>>,
    pub(super) is_edited: bool,
    /// Whether a press is showing how its calls ended, with an answer that must not come after a later edit.
    pub(super) is_showing: bool,
    /// Allowed calls that have not ended yet: the card will show their end.
    pub(super) running: BTreeSet<i64>,
    /// Whether an edit is due that shows how the allowed calls ended.
    pub(super) owes_receipt: bool,
}

/// An answer that the turn has.
pub(super) struct Given {
    pub(super) choice: Choice,
    /// The person who gave it, by the name that the server shows.
    pub(super) by: String,
}

/// A press whose decision the turn has, but has not reported yet.
pub(super) struct Deciding {
    /// Its calls that have not ended yet.
    pub(super) left: BTreeSet<i64>,
    /// Where the message with the endings is shown; `None` means that the message is edited.
    pub(super) shown_by: Option<oneshot::Sender<Body>>,
}

impl Asked {
    /// Creates a question that was not yet shown.
    pub(super) fn new(question: Box<Question>) -> Self {
        Self {
            ended: vec![None; question.calls.len()],
            question,
            given: HashMap::new(),
            message: None,
            press: None,
            edits: Arc::default(),
            is_edited: false,
            is_showing: false,
            running: BTreeSet::new(),
            owes_receipt: false,
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.ended.iter().all(Option::is_some)
    }

    /// Returns whether the call belongs to the question and has not ended.
    pub(super) fn waits_for(&self, id: i64) -> bool {
        let calls = self.question.calls.iter().zip(&self.ended);
        calls
            .into_iter()
            .any(|(call, ended)| call.approval == id && ended.is_none())
    }

    /// Returns whether an answer about the call counts: the first one, and a denial after an approval.
    pub(super) fn takes(&self, id: i64, choice: Choice) -> bool {
        match self.given.get(&id) {
            None => true,
            Some(given) => choice == Choice::Deny && given.choice != Choice::Deny,
        }
    }

    /// Records how a call ended.
    pub(super) fn end(&mut self, id: i64, end: QuestionEnd) {
        let by = self.given.get(&id).map(|given| given.by.clone());
        let by = by.unwrap_or_else(|| "somebody".to_owned());
        let calls = self.question.calls.iter();
        let at = calls.into_iter().position(|call| call.approval == id);
        let Some(ended) = at.and_then(|at| self.ended.get_mut(at)) else {
            return;
        };
        let is_allowed = matches!(
            end,
            QuestionEnd::Decided {
                choice: Choice::Allow | Choice::AlwaysAllow,
                ..
            }
        );
        if is_allowed {
            self.running.insert(id);
        } else {
            self.running.remove(&id);
        }
        *ended = Some(Ended {
            end,
            by,
            outcome: None,
        });
        if let Some(press) = &mut self.press {
            press.left.remove(&id);
        }
    }

    /// Records how an allowed call ended. Returns whether the card should be edited now: all of its calls have ended.
    pub(super) fn ran(&mut self, id: i64, outcome: Option<String>) -> bool {
        self.running.remove(&id);
        let mut calls = self.question.calls.iter();
        let at = calls.position(|call| call.approval == id);
        let ended = at.and_then(|at| self.ended.get_mut(at));
        if let Some(Some(ended)) = ended {
            ended.outcome = outcome;
        }
        let says_more = |ended: &Option<Ended>| {
            let ended = ended.as_ref();
            ended.is_some_and(|ended| ended.outcome.is_some())
        };
        let is_due = self.is_over() && self.running.is_empty() && self.ended.iter().any(says_more);
        self.owes_receipt |= is_due;
        is_due
    }

    /// Returns whether its card is final.
    fn is_done(&self) -> bool {
        self.is_over() && self.running.is_empty() && !self.owes_receipt && !self.is_showing
    }

    pub(super) fn body(&self, approvers: &[RoleId]) -> Body {
        long::work_on(self.question.size(), || {
            approval::shown(&self.question, &self.ended, approvers)
        })
    }
}

impl Book {
    pub(super) fn asked_about(&self, id: i64) -> Option<&Asked> {
        self.asked.get(self.questions.get(&id)?)
    }

    pub(super) fn asked_about_mut(&mut self, id: i64) -> Option<&mut Asked> {
        self.asked.get_mut(self.questions.get(&id)?)
    }

    /// Returns whether `message` shows an open question.
    pub(super) fn is_card(&self, message: MessageId) -> bool {
        let mut all = self.asked.values();
        all.any(|asked| asked.message == Some(message) && !asked.is_over())
    }

    pub(super) fn is_open(&self, id: i64) -> bool {
        self.asked_about(id)
            .is_some_and(|asked| asked.waits_for(id))
    }

    /// Returns the calls of a question that have not ended.
    pub(super) fn open_calls_of(&self, question: i64) -> Vec<i64> {
        let asked = self.asked_about(question).into_iter();
        asked
            .flat_map(|asked| asked.question.calls.iter().map(|call| call.approval))
            .filter(|id| self.is_open(*id))
            .collect()
    }

    /// Remembers how a call ended, for later presses.
    pub(super) fn remember(&mut self, id: i64, end: QuestionEnd) {
        self.ended.push_back((id, end));
        if self.ended.len() > REMEMBERED {
            self.ended.pop_front();
        }
    }

    /// Records that the message of a question is about to be edited. Returns whether it is known, so that it can be.
    pub(super) fn edits(&mut self, question: i64) -> bool {
        let Some(asked) = self.asked.get_mut(&question) else {
            return false;
        };
        asked.is_edited |= asked.message.is_some();
        asked.message.is_some()
    }

    /// Forgets a question with a final card.
    pub(super) fn forget_if_done(&mut self, question: i64) {
        if self.asked.get(&question).is_some_and(Asked::is_done) {
            self.forget(question);
        }
    }

    pub(super) fn forget(&mut self, question: i64) {
        self.asked.remove(&question);
        self.questions.retain(|_, of| *of != question);
    }
}
