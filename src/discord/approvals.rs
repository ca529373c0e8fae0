//! Questions that wait for a person: open, pressed once, and edited to how they ended.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::Utc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::warn;

use super::approval_card::{self, Ending};
use super::body::Body;
use super::explain::{self, Deed};
use super::rest::{Rest, Urgency};
use crate::agent::event::{Answer, Choice, Question};
use crate::domain::{CallId, ChannelId, MessageId, Person, TurnId, UserId};

/// All open questions. Cheap to clone.
#[derive(Clone)]
pub(super) struct Approvals {
    book: Arc<Mutex<Book>>,
    rest: Rest,
    tasks: TaskTracker,
    stop: CancellationToken,
}

#[derive(Default)]
struct Book {
    open: HashMap<i64, Open>,
    /// How questions ended whose posts we do not know yet: Discord may tell of a press before it confirms the post.
    ended_early: HashMap<i64, Body>,
}

struct Open {
    question: Box<Question>,
    message: Option<MessageId>,
}

/// What came of a press.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Press {
    /// It decided the question.
    Decided,
    /// The question is closed; its card should say so.
    TooLate,
}

impl Approvals {
    pub(super) fn new(rest: Rest, stop: CancellationToken) -> Self {
        Self {
            book: Arc::default(),
            rest,
            tasks: TaskTracker::new(),
            stop,
        }
    }

    /// Takes a question in; from here on it can be answered, and its time runs.
    pub(super) fn open(&self, question: Box<Question>) {
        self.expire_in_time(&question);
        self.with(|book| {
            book.open.insert(
                question.approval,
                Open {
                    question,
                    message: None,
                },
            )
        });
    }

    /// Whether nobody has answered it yet, and its time is not over.
    pub(super) fn is_open(&self, id: i64) -> bool {
        self.with(|book| book.open.contains_key(&id))
    }

    /// Takes a question back that nobody was shown. Dropped unanswered, it is denied.
    pub(super) fn withdraw(&self, id: i64) {
        self.with(|book| book.open.remove(&id));
    }

    /// A question's card is this message; where the question has ended already, it says how.
    pub(super) async fn posted(&self, channel: ChannelId, id: i64, message: MessageId) {
        let ending = self.with(|book| match book.open.get_mut(&id) {
            Some(open) => {
                open.message = Some(message);
                None
            }
            None => book.ended_early.remove(&id),
        });
        if let Some(ending) = ending {
            self.show(channel, message, ending).await;
        }
    }

    /// Whose messages are in the turn that asks; none when the question is closed.
    pub(super) fn requesters(&self, id: i64) -> Option<Vec<UserId>> {
        self.with(|book| {
            book.open
                .get(&id)
                .map(|open| open.question.requesters.clone())
        })
    }

    /// The name of the agent that asks, and the action that it asks about; none when the question is closed.
    pub(super) fn subject(&self, id: i64) -> Option<(String, String)> {
        self.with(|book| {
            let question = &book.open.get(&id)?.question;
            Some((
                question.turn.agent_name.to_string(),
                question.action.clone(),
            ))
        })
    }

    /// Decides a question once: whoever may have pressed second is too late.
    pub(super) async fn decide(&self, id: i64, choice: Choice, by: &Person) -> Press {
        let Some(Open { question, message }) = self.with(|book| book.open.remove(&id)) else {
            return Press::TooLate;
        };
        let channel = question.turn.channel;
        let decided = approval_card::closed(&question, Ending::Decided(choice, &by.name));
        let expired = approval_card::closed(&question, Ending::Expired);
        let answer = Answer { choice, by: by.id };
        let (press, body) = match question.answer.send(answer) {
            Ok(()) => (Press::Decided, decided),
            Err(_) => (Press::TooLate, expired),
        };
        match message {
            Some(message) => self.show(channel, message, body).await,
            None => self.with(|book| drop(book.ended_early.insert(id, body))),
        }
        press
    }

    /// The question of a call ended without a press.
    pub(super) fn expire(&self, turn: TurnId, call: &CallId) {
        let closed = self.with(|book| {
            let is_it =
                |open: &Open| open.question.turn.turn == turn && open.question.call == *call;
            let id = book
                .open
                .iter()
                .find(|(_, open)| is_it(open))
                .map(|(id, _)| *id)?;
            book.open.remove(&id)
        });
        if let Some(closed) = closed {
            self.show_expired(closed);
        }
    }

    /// Waits for the last cards to be edited.
    pub(super) async fn finish(&self) {
        let left: Vec<Open> = self.with(|book| book.open.drain().map(|(_, open)| open).collect());
        for open in left {
            self.show_expired(open);
        }
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Keeps the time ourselves, so that the card is right even if nobody says that the question ended.
    fn expire_in_time(&self, question: &Question) {
        let id = question.approval;
        let left = (question.expires_at - Utc::now())
            .to_std()
            .unwrap_or_default();
        let this = self.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = this.stop.cancelled() => return,
                () = tokio::time::sleep(left) => {}
            }
            if let Some(closed) = this.with(|book| book.open.remove(&id)) {
                this.show_expired(closed);
            }
        });
    }

    fn show_expired(&self, closed: Open) {
        let body = approval_card::closed(&closed.question, Ending::Expired);
        let Some(message) = closed.message else {
            let id = closed.question.approval;
            return self.with(|book| drop(book.ended_early.insert(id, body)));
        };
        let this = self.clone();
        let channel = closed.question.turn.channel;
        self.tasks
            .spawn(async move { this.show(channel, message, body).await });
    }

    async fn show(&self, channel: ChannelId, message: MessageId, body: Body) {
        let edit = self
            .rest
            .edit(channel, message, &body, Urgency::Durable)
            .await;
        if let Err(error) = edit {
            warn!(channel.id = %channel, "a question's card was not edited: {}", explain::refusal(Deed::Edit, &error));
        }
    }

    fn with<T>(&self, act: impl FnOnce(&mut Book) -> T) -> T {
        act(&mut self.book.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
