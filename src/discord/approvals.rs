//! Questions that wait for a person: posted, pressed once, and edited to how they ended.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::Utc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::warn;

use super::approval_card::{self, Ending};
use super::explain::{self, Deed};
use super::outbound::Outward;
use super::rest::{Rest, Urgency};
use crate::agent::event::{Answer, Choice, Question};
use crate::domain::{CallId, ChannelId, MessageId, Person, TurnId, UserId};

/// All open questions. Cheap to clone.
#[derive(Clone)]
pub(super) struct Approvals {
    open: Arc<Mutex<HashMap<i64, Open>>>,
    rest: Rest,
    tasks: TaskTracker,
    stop: CancellationToken,
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
            open: Arc::default(),
            rest,
            tasks: TaskTracker::new(),
            stop,
        }
    }

    /// Posts a question and waits for nothing: presses and the end of its time come later.
    pub(super) async fn ask(&self, outward: &Outward, question: Box<Question>) {
        let id = question.approval;
        let channel = question.turn.channel;
        let body = approval_card::open(&question);
        self.expire_in_time(&question);
        self.with(|open| {
            open.insert(
                id,
                Open {
                    question,
                    message: None,
                },
            )
        });
        let message = match self.rest.post(channel, &body).await {
            Ok(message) => message,
            Err(error) => {
                warn!(channel.id = %channel, "a question could not be posted: {}", explain::refusal(Deed::Post, &error));
                // Dropped unanswered, it is denied.
                self.with(|open| open.remove(&id));
                return;
            }
        };
        if let Err(error) = outward.store.set_question_post(id, message).await {
            warn!(%error, "a question's message was not kept; after a crash it would stay as it is");
        }
        let is_open = self.with(|open| match open.get_mut(&id) {
            Some(open) => {
                open.message = Some(message);
                true
            }
            None => false,
        });
        if !is_open {
            self.show(channel, message, approval_card::expired()).await;
        }
    }

    /// Whose messages are in the turn that asks; none when the question is closed.
    pub(super) fn requesters(&self, id: i64) -> Option<Vec<UserId>> {
        self.with(|open| open.get(&id).map(|open| open.question.requesters.clone()))
    }

    /// Decides a question once: whoever may have pressed second is too late.
    pub(super) async fn decide(&self, id: i64, choice: Choice, by: &Person) -> Press {
        let Some(Open { question, message }) = self.with(|open| open.remove(&id)) else {
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
        if let Some(message) = message {
            self.show(channel, message, body).await;
        }
        press
    }

    /// The question of a call ended without a press.
    pub(super) fn expire(&self, turn: TurnId, call: &CallId) {
        let closed = self.with(|open| {
            let is_it =
                |open: &Open| open.question.turn.turn == turn && open.question.call == *call;
            let id = open
                .iter()
                .find(|(_, open)| is_it(open))
                .map(|(id, _)| *id)?;
            open.remove(&id)
        });
        if let Some(closed) = closed {
            self.show_expired(closed);
        }
    }

    /// Waits for the last cards to be edited.
    pub(super) async fn finish(&self) {
        let left: Vec<Open> = self.with(|open| open.drain().map(|(_, open)| open).collect());
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
            if let Some(closed) = this.with(|open| open.remove(&id)) {
                this.show_expired(closed);
            }
        });
    }

    fn show_expired(&self, closed: Open) {
        let Some(message) = closed.message else {
            return;
        };
        let this = self.clone();
        let channel = closed.question.turn.channel;
        let body = approval_card::closed(&closed.question, Ending::Expired);
        self.tasks
            .spawn(async move { this.show(channel, message, body).await });
    }

    async fn show(&self, channel: ChannelId, message: MessageId, body: super::body::Body) {
        let edit = self
            .rest
            .edit(channel, message, &body, Urgency::Durable)
            .await;
        if let Err(error) = edit {
            warn!(channel.id = %channel, "a question's card was not edited: {}", explain::refusal(Deed::Edit, &error));
        }
    }

    fn with<T>(&self, act: impl FnOnce(&mut HashMap<i64, Open>) -> T) -> T {
        act(&mut self.open.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
