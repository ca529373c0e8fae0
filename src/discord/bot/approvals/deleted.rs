//! Posts the message of an open question again after it is deleted, by a person or by `/purge`; without it the question
//! could not be answered.

use tracing::warn;

use super::book::Asked;
use super::{Approvals, REMEMBERED};
use crate::discord::bot::Bot;
use crate::discord::rest::body::Body;
use crate::discord::rest::explain::Operation;
use crate::discord::rest::{Request, RestError, Urgency};
use crate::domain::{ChannelId, MessageId};

/// An open question without its message.
struct Unshown {
    question: i64,
    calls: Vec<i64>,
    body: Body,
}

impl Approvals {
    /// Records that a message was deleted. Returns the question that it asked, if that is open.
    fn lost(&self, channel: ChannelId, message: MessageId) -> Option<Unshown> {
        self.with(|book| {
            let is_it = |asked: &&mut Asked| {
                asked.message == Some(message)
                    && asked.question.turn.channel == channel
                    && !asked.is_over()
            };
            let asked = book.asked.values_mut().find(is_it)?;
            asked.message = None;
            let calls = asked.question.calls.iter();
            Some(Unshown {
                question: asked.question.id(),
                calls: calls.map(|call| call.approval).collect(),
                body: asked.body(&self.approvers(asked.question.turn.agent)),
            })
        })
    }

    /// Returns whether a deleted message asks an open question. While one is being posted its id is not known, so the
    /// message is remembered.
    pub(in crate::discord) fn asks(&self, message: MessageId) -> bool {
        self.with(|book| {
            let is_posted = |asked: &Asked| asked.message.is_some();
            if !book.asked.values().all(is_posted) {
                book.deleted.push_back(message);
                if book.deleted.len() > REMEMBERED {
                    book.deleted.pop_front();
                }
            }
            let mut asked = book.asked.values();
            asked.any(|asked| asked.message == Some(message) && !asked.is_over())
        })
    }

    /// Returns whether a message was deleted before its question knew its id.
    pub(in crate::discord) fn was_deleted(&self, message: MessageId) -> bool {
        self.with(|book| book.deleted.contains(&message))
    }
}

impl Approvals {
    /// Denies the questions in a deleted channel, because they can no longer be decided.
    pub(in crate::discord) fn channel_deleted(&self, channel: ChannelId) {
        self.with(|book| {
            let in_it = |(_, asked): &(&i64, &Asked)| asked.question.turn.channel == channel;
            let asked = book.asked.iter().filter(in_it);
            let questions: Vec<i64> = asked.map(|(question, _)| *question).collect();
            for question in questions {
                book.forget(question);
            }
        });
        self.changed();
    }
}

impl Bot {
    /// Posts the question of the deleted message again. If Discord refuses that, its calls are denied.
    pub(in crate::discord) async fn question_deleted(
        &self,
        channel: ChannelId,
        message: MessageId,
    ) {
        let Some(unshown) = self.approvals.lost(channel, message) else {
            return;
        };
        // One nonce for each deleted message, so that a repeated request posts only one.
        let nonce = format!("again-{message}");
        let request = Request::post(channel, &unshown.body, Urgency::Durable).nonce(&nonce);
        match self.rest.reply(request).await {
            Ok(posted) => {
                let stored = self.store.set_question_post(&unshown.calls, posted).await;
                if let Err(error) = stored {
                    warn!(%error, "failed to store the message of an approval; a crash would leave it as it is");
                }
                self.approvals.posted(unshown.question, posted).await;
            }
            Err(error) => {
                let why = self.refusal(Operation::Ask, channel, &error);
                warn!(channel.id = %channel, "failed to post an approval again whose message was deleted: {why}");
                if let RestError::Refused { .. } = error {
                    self.approvals.withdraw(unshown.question);
                }
            }
        }
    }
}
