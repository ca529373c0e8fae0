//! Questions that wait for a person. Each is one message about one or more calls; it is posted, decided, and finally
//! edited to show how it ended.
//!
//! A press only passes its answer to the turn that asks. That turn decides, stores the decision in the ledger and then
//! reports it; every message with its buttons and every late press shows that report.

mod book;
mod deciders;
mod deleted;
mod words;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::warn;

use crate::agent::Stopper;
use crate::agent::event::{Answer, Arrived, Choice, Question, QuestionEnd};
use crate::discord::render::approval;
use crate::discord::rest::body::Body;
use crate::discord::rest::explain::{self, Operation};
use crate::discord::rest::{Rest, Urgency};
use crate::domain::{AgentId, ChannelId, MessageId, Person, RoleId, TurnId, UserId};
use crate::manager::AgentManager;
use crate::text::long;
use book::{Asked, Book, Deciding, Given};

/// The reaction that shows that a message was accepted.
pub(in crate::discord) const TAKEN: &str = "👀";

/// Most endings kept for late presses; older ones are read from the ledger.
const REMEMBERED: usize = 256;

/// How long a press waits for the message's id, or for the ending that another press causes. Both take one request or
/// one write to the disk.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How long after its expiry a question is closed here, in case its turn panicked without a report.
const GRACE: Duration = Duration::from_secs(15);

/// All open questions. Cheap to clone.
#[derive(Clone)]
pub(in crate::discord) struct Approvals {
    book: Arc<Mutex<Book>>,
    /// Counts changes of the book, for those that wait for one.
    changes: watch::Sender<u64>,
    rest: Rest,
    manager: AgentManager,
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// The message with the button that was pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::discord) struct Pressed {
    pub(in crate::discord) channel: ChannelId,
    pub(in crate::discord) message: MessageId,
}

#[derive(Debug, PartialEq, Eq)]
pub(in crate::discord) enum Found {
    /// Open calls, and the authors of the messages in the turn that asks.
    Open(Vec<UserId>),
    /// An open question of another message.
    Elsewhere,
    /// Nothing open.
    Closed,
}

#[derive(Debug, PartialEq, Eq)]
pub(in crate::discord) enum Press {
    /// The turn has the answer.
    Decided,
    /// Another answer, or the question's end, was first.
    TooLate,
}

impl Approvals {
    pub(in crate::discord) fn new(
        rest: Rest,
        manager: AgentManager,
        stop: CancellationToken,
    ) -> Self {
        Self {
            book: Arc::default(),
            changes: watch::Sender::default(),
            rest,
            manager,
            tasks: TaskTracker::new(),
            stop,
        }
    }

    /// Opens a question; from here on it can be answered. Returns its message; `None` if all of it has already ended
    /// and need not be shown.
    pub(in crate::discord) fn open(&self, question: Box<Question>) -> Option<Body> {
        let id = question.id();
        let approvers = self.approvers(question.turn.agent);
        self.close_after_its_time(&question);
        self.with(|book| {
            let mut asked = Asked::new(question);
            let early: Vec<(i64, QuestionEnd)> = book.ended.iter().cloned().collect();
            for (call, end) in early {
                asked.end(call, end);
            }
            if asked.is_over() {
                return None;
            }
            let body = asked.body(&approvers);
            for call in &asked.question.calls {
                book.questions.insert(call.approval, id);
            }
            book.asked.insert(id, asked);
            Some(body)
        })
    }

    /// Returns whether a part of the question has not ended.
    pub(in crate::discord) fn is_open(&self, question: i64) -> bool {
        self.with(|book| {
            book.asked_about(question)
                .is_some_and(|asked| !asked.is_over())
        })
    }

    /// Closes a question that was never shown. Dropping it unanswered denies its calls.
    pub(in crate::discord) fn withdraw(&self, question: i64) {
        self.with(|book| book.forget(question));
        self.changed();
    }

    /// Records that a question was posted as this message; if some of it has already ended, the message is edited.
    pub(in crate::discord) async fn posted(&self, question: i64, message: MessageId) {
        let is_outdated = self.with(|book| {
            let asked = book.asked.get_mut(&question)?;
            asked.message = Some(message);
            Some(asked.ended.iter().any(Option::is_some))
        });
        self.changed();
        if is_outdated == Some(true) {
            self.show(question).await;
        }
    }

    /// Returns the subject of a press on the message `pressed`. Only the question's own message can decide it.
    pub(in crate::discord) async fn find(&self, question: i64, pressed: Pressed) -> Found {
        // Another, open question may be there.
        let ended = |book: &Book| {
            if book.is_card(pressed.message) {
                Found::Elsewhere
            } else {
                Found::Closed
            }
        };
        let found = self.wait_for(|book| match book.asked_about(question) {
            None => Some(ended(book)),
            Some(asked) if asked.is_over() => Some(ended(book)),
            Some(asked) if asked.question.turn.channel != pressed.channel => Some(Found::Elsewhere),
            Some(asked) => match asked.message {
                Some(message) if message == pressed.message => {
                    Some(Found::Open(asked.question.requesters.clone()))
                }
                Some(_) => Some(Found::Elsewhere),
                None => None,
            },
        });
        found.await.unwrap_or(Found::Elsewhere)
    }

    /// Returns whether `message` shows an open question.
    pub(in crate::discord) fn is_card(&self, message: MessageId) -> bool {
        self.with(|book| book.is_card(message))
    }

    /// Works like [`Self::find`] for a press on a private message about a call; only its channel is known.
    pub(in crate::discord) fn find_in(&self, id: i64, channel: ChannelId) -> Found {
        self.with(|book| match book.asked_about(id) {
            Some(asked) if asked.is_over() => Found::Closed,
            None => Found::Closed,
            Some(asked) if asked.question.turn.channel != channel => Found::Elsewhere,
            Some(asked) => Found::Open(asked.question.requesters.clone()),
        })
    }

    /// Returns the calls of the question that are still open, or only this one if it is.
    pub(in crate::discord) fn open_calls(&self, subject: approval::Subject) -> Vec<i64> {
        self.with(|book| match subject {
            approval::Subject::Alone(id) => Vec::from_iter(book.is_open(id).then_some(id)),
            approval::Subject::All(id) => book.open_calls_of(id),
        })
    }

    /// Returns the agents that ask; empty if nothing is open.
    pub(in crate::discord) fn agents_of(&self, id: i64) -> Vec<AgentId> {
        self.with(|book| {
            let asked = book.asked_about(id);
            asked.map_or_else(Vec::new, |asked| asked.question.agents.clone())
        })
    }

    /// Records that a press or a form with this id has arrived, if it may deny an open question. Called in the order in
    /// which Discord sent them, so that no call starts before an earlier denial was considered.
    pub(in crate::discord) fn arrived(&self, custom_id: &str) -> Option<Arrived> {
        let about = custom_id.strip_prefix("deny:").unwrap_or(custom_id);
        let (subject, what) = approval::Subject::of(about)?;
        let denies = about != custom_id || approval::choice(what) == Some(Choice::Deny);
        if !denies {
            return None;
        }
        self.with(|book| Some(book.asked_about(subject.id())?.question.presses.arrive()))
    }

    /// Returns the name of the agent that asks, and the actions that it asks about, with those at the target of links.
    /// Returns `None` if all of it is closed.
    pub(in crate::discord) fn subject(&self, calls: &[i64]) -> Option<(String, Vec<String>)> {
        self.with(|book| {
            let asked = book.asked_about(*calls.first()?)?;
            let all = asked.question.calls.iter();
            let wanted = all.filter(|call| calls.contains(&call.approval));
            Some((
                asked.question.turn.agent_name.to_string(),
                wanted
                    .flat_map(|call| std::iter::once(&call.action).chain(&call.reached))
                    .cloned()
                    .collect(),
            ))
        })
    }

    /// Returns one call of a question, for a person who decides it separately.
    pub(in crate::discord) fn alone(&self, id: i64) -> Option<Body> {
        self.with(|book| {
            let asked = book.asked_about(id).filter(|asked| asked.waits_for(id))?;
            long::work_on(asked.question.size(), || {
                approval::alone(&asked.question, id)
            })
        })
    }

    /// Passes a decision about these calls of one question to the turn that asks. The first one counts, but a denial
    /// overrules it until the turn accepts no more. The new message is sent to `presser` once the ledger has all of it;
    /// if there is no receiver, the message is edited.
    pub(in crate::discord) fn decide(
        &self,
        calls: &[i64],
        answer: &Answer,
        by: &Person,
        presser: Option<oneshot::Sender<Body>>,
    ) -> Press {
        self.with(|book| {
            let first = calls.first().copied().unwrap_or_default();
            let Some(asked) = book.asked_about_mut(first) else {
                return Press::TooLate;
            };
            let mut given = BTreeSet::new();
            for call in &asked.question.calls {
                let id = call.approval;
                // If the turn no longer waits, it reports the reason itself.
                if calls.contains(&id)
                    && asked.takes(id, answer.choice)
                    && call.answer.try_send(answer.clone()).is_ok()
                {
                    given.insert(id);
                }
            }
            if given.is_empty() {
                return Press::TooLate;
            }
            for id in &given {
                let by = by.name.clone();
                let choice = answer.choice;
                asked.given.insert(*id, Given { choice, by });
            }
            asked.press = Some(Deciding {
                left: given,
                shown_by: presser,
            });
            Press::Decided
        })
    }

    /// Returns the decision on a call that this process asked about: at once, or as soon as its turn reports it.
    pub(in crate::discord) async fn ending(&self, id: i64) -> Option<QuestionEnd> {
        let ending = self.wait_for(|book| {
            let ended = book.ended.iter().find(|(ended, _)| *ended == id);
            match ended {
                Some((_, end)) => Some(Some(end.clone())),
                None if book.is_open(id) => None,
                None => Some(None),
            }
        });
        ending.await.flatten()
    }

    /// Closes a call that was decided, or whose question ended, as its turn reports; the ledger already has it.
    pub(in crate::discord) fn close(&self, id: i64, end: QuestionEnd) {
        let shows = self.with(|book| {
            book.remember(id, end.clone());
            let question = *book.questions.get(&id)?;
            let asked = book.asked.get_mut(&question)?;
            asked.end(id, end);
            let approvers = self.approvers(asked.question.turn.agent);
            // The other calls of the same press are also about to end.
            let is_waiting = |press: &Deciding| !press.left.is_empty();
            if asked.press.as_ref().is_some_and(is_waiting) {
                return None;
            }
            let press = asked.press.take();
            if let Some(shown_by) = press.and_then(|press| press.shown_by)
                && asked.is_over()
                && !asked.is_edited
                // It is removed once the press has shown it.
                && shown_by.send(asked.body(&approvers)).is_ok()
            {
                asked.is_showing = true;
                return None;
            }
            book.edits(question).then_some(question)
        });
        self.changed();
        if let Some(question) = shows {
            let this = self.clone();
            self.tasks.spawn(async move { this.show(question).await });
        }
    }

    /// Waits for the last messages to be edited.
    pub(in crate::discord) async fn finish(&self) {
        let left: Vec<i64> = self.with(|book| {
            let calls = book.questions.keys().copied();
            calls.filter(|id| book.is_open(*id)).collect()
        });
        for id in left {
            self.close(id, QuestionEnd::Cancelled(Stopper::Shutdown));
        }
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Closes the question after its expiry, in case its turn panicked and does not report its end.
    fn close_after_its_time(&self, question: &Question) {
        let calls: Vec<i64> = question.calls.iter().map(|call| call.approval).collect();
        let left = (question.expires_at - Utc::now())
            .to_std()
            .unwrap_or_default();
        let this = self.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = this.stop.cancelled() => return,
                () = tokio::time::sleep(left + GRACE) => {}
            }
            for id in calls {
                if this.with(|book| book.is_open(id)) {
                    this.close(id, QuestionEnd::Expired);
                }
            }
        });
    }

    /// Records that the message of a question already shows how all of it ended.
    pub(in crate::discord) fn was_shown(&self, question: i64) {
        self.with(|book| {
            if let Some(asked) = book.asked.get_mut(&question) {
                asked.is_showing = false;
            }
            book.forget_if_done(question);
        });
        self.changed();
    }

    /// Records the end of a call that people had allowed. Returns the channel and the question whose card shows it.
    pub(in crate::discord) fn ran(
        &self,
        call: i64,
        outcome: Option<String>,
    ) -> Option<(ChannelId, i64)> {
        self.with(|book| {
            let question = *book.questions.get(&call)?;
            let asked = book.asked.get_mut(&question)?;
            let channel = asked.question.turn.channel;
            let is_due = asked.ran(call, outcome);
            book.forget_if_done(question);
            is_due.then_some((channel, question))
        })
    }

    /// Edits a card to show how its calls ended, once the press that decided them has shown the decision.
    pub(in crate::discord) async fn show_receipt(&self, question: i64) {
        let shown = self.wait_for(|book| {
            let is_showing = |asked: &Asked| asked.is_showing;
            let waits = book.asked.get(&question).is_some_and(is_showing);
            (!waits).then_some(())
        });
        // Even if it failed, the edit follows.
        let _ = shown.await;
        self.show(question).await;
    }

    /// Records that the turn has ended: the effects of its allowed calls that were not reported by now will not be.
    pub(in crate::discord) fn turn_ended(&self, run: TurnId) {
        self.with(|book| {
            let over: Vec<i64> = book
                .asked
                .iter_mut()
                .filter(|(_, asked)| asked.question.turn.run == run && asked.is_over())
                .map(|(question, asked)| {
                    asked.running.clear();
                    *question
                })
                .collect();
            for question in over {
                book.forget_if_done(question);
            }
        });
    }

    /// Edits a question's message to its present state.
    pub(in crate::discord) async fn show(&self, question: i64) {
        let edits = self.with(|book| {
            let asked = book.asked.get(&question)?;
            Some(Arc::clone(&asked.edits))
        });
        let Some(edits) = edits else { return };
        let _turn = edits.lock().await;
        let shown = self.with(|book| {
            let asked = book.asked.get_mut(&question)?;
            let message = asked.message?;
            (asked.is_showing, asked.owes_receipt) = (false, false);
            let turn = &asked.question.turn;
            let body = asked.body(&self.approvers(turn.agent));
            Some((turn.agent, turn.channel, message, body))
        });
        let Some((agent, channel, message, body)) = shown else {
            return;
        };
        self.with(|book| book.forget_if_done(question));
        let guild = self.manager.directory.agent(agent).map(|agent| agent.guild);
        if guild.is_some_and(|guild| !self.manager.servers.serves(guild)) {
            return;
        }
        let edit = self
            .rest
            .edit(channel, message, &body, Urgency::Durable)
            .await;
        if let Err(error) = edit {
            warn!(channel.id = %channel, "failed to edit the message of an approval: {}", explain::refusal(Operation::Edit, &error));
        }
    }

    /// Returns the roles that may decide for an agent.
    fn approvers(&self, agent: AgentId) -> Vec<RoleId> {
        let agent = self.manager.directory.agent(agent);
        agent.map_or_else(Vec::new, |agent| {
            self.manager.settings.server(agent.guild).approver_roles
        })
    }

    /// Returns the result of `found` on the book, now or after a change; `None` if it finds nothing in time.
    async fn wait_for<T>(&self, mut found: impl FnMut(&Book) -> Option<T>) -> Option<T> {
        let mut changes = self.changes.subscribe();
        let waiting = async {
            loop {
                if let Some(found) = self.with(|book| found(book)) {
                    return Some(found);
                }
                // The sender is in `self`.
                changes.changed().await.ok()?;
            }
        };
        // A deadline: the event that a press waits for may never come if Discord or the disk fails.
        tokio::time::timeout(TIMEOUT, waiting).await.ok().flatten()
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    fn with<T>(&self, act: impl FnOnce(&mut Book) -> T) -> T {
        act(&mut self.book.lock())
    }
}
