//! Posts an approval in the channel of the turn that asks; `bot::approvals` keeps its state.

use std::time::Duration;

use tracing::warn;

use super::OutboundContext;
use crate::agent::event::Question;
use crate::discord::rest::RestError;
use crate::discord::rest::body::Body;
use crate::discord::rest::explain::Operation;
use crate::domain::{ChannelId, MessageId};
use crate::text::escape;

/// The pause before an approval is posted again while Discord cannot be reached.
const POST_PAUSE: Duration = Duration::from_secs(2);

impl OutboundContext {
    /// Posts an approval without waiting for its outcome.
    pub(super) async fn ask(&self, question: Box<Question>) {
        let id = question.id();
        let channel = question.turn.channel;
        let calls: Vec<i64> = question.calls.iter().map(|call| call.approval).collect();
        let Some(body) = self.bot.approvals.open(question) else {
            return;
        };
        let Some(message) = self.post_approval(channel, id, &body).await else {
            self.bot.approvals.withdraw(id);
            return;
        };
        if let Err(error) = self.bot.store.set_question_post(&calls, message).await {
            warn!(%error, "failed to store the message of an approval; a crash would leave it as it is");
        }
        self.bot.approvals.posted(id, message).await;
        if self.bot.approvals.was_deleted(message) {
            self.bot.question_deleted(channel, message).await;
        }
    }

    /// Posts an approval's message. While Discord cannot be reached this is tried again for as long as the approval is
    /// open. If Discord refuses it, people get the reason, and its calls are denied.
    async fn post_approval(&self, channel: ChannelId, id: i64, body: &Body) -> Option<MessageId> {
        let nonce = format!("ask-{id}");
        loop {
            let error = match self.bot.rest.post_once(channel, body, &nonce).await {
                Ok(message) => return Some(message),
                Err(error) => error,
            };
            let why = self.bot.refusal(Operation::Ask, channel, &error);
            warn!(channel.id = %channel, "failed to post an approval: {why}");
            if let RestError::Refused { .. } = error {
                self.bot.approvals.withdraw(id);
                self.tell_unasked(channel, &why).await;
                return None;
            }
            // A pause between attempts, so that an outage is not made worse.
            let pause = tokio::time::sleep(POST_PAUSE);
            self.stop.run_until_cancelled(pause).await?;
            if !self.bot.approvals.is_open(id) {
                return None;
            }
        }
    }

    async fn tell_unasked(&self, channel: ChannelId, why: &str) {
        let line = escape::sentence(&format!("⚠️ {why} Nothing was run."));
        match self.bot.store.notice(channel, &line).await {
            Ok(_) => self.bot.deliver(channel),
            Err(error) => warn!(%error, "failed to store a notice"),
        }
        self.bot
            .tell_operator(format!("ask:{channel}"), format!("In <#{channel}>: {why}"));
    }
}
