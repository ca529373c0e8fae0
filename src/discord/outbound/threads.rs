//! Threads of child turns: opened when one begins, archived once it has ended. Messages in them go through the outbox.

use std::sync::Arc;

use serde_json::json;
use tracing::{debug, warn};

use super::OutboundContext;
use crate::agent::event::ChildThread;
use crate::discord::bot::under_way::OPENED_WITHIN;
use crate::discord::rest::explain::{self, Operation};
use crate::discord::rest::{Request, RestError, Urgency, route, snowflake};
use crate::domain::{ChannelId, ConversationId};
use crate::store::{NewPart, StoreError};

/// A thread that everyone who sees the channel can see.
const PUBLIC: u64 = 11;

/// Minutes without messages after which Discord archives a thread, in case the bot does not.
const ARCHIVED_AFTER: u64 = 60;

/// Why a child turn has no thread.
#[derive(Debug, thiserror::Error)]
enum NoThread {
    #[error("{0}")]
    Refused(String),
    #[error("Discord did not open it within {} s", OPENED_WITHIN.as_secs())]
    TooSlow,
    #[error("Discord named no id for it")]
    Nameless,
    #[error(transparent)]
    Ledger(#[from] StoreError),
}

/// Shows a child turn in its own thread until it ends. Without a thread the child works just the same.
pub(super) async fn show(context: Arc<OutboundContext>, mut child: ChildThread) {
    let thread = context.thread_of(&child).await.inspect_err(|why| {
        warn!(
            channel.id = %child.below,
            turn.id = %child.turn,
            "a sub-agent works without a thread: {why}"
        );
    });
    let thread = thread.ok();
    loop {
        let said = tokio::select! {
            biased;
            said = child.said.recv() => said,
            () = context.stop.cancelled() => child.said.try_recv().ok(),
        };
        match (said, thread) {
            (None, _) => break,
            (Some(parts), Some(thread)) => context.post_in(thread, parts).await,
            (Some(_), None) => {}
        }
    }
    context.say_last(thread, child.conversation).await;
}

impl OutboundContext {
    /// Returns the thread of a child turn: a new one, or that of the conversation that it continues.
    async fn thread_of(&self, child: &ChildThread) -> Result<ChannelId, NoThread> {
        let store = &self.bot.store;
        let known = store.conversation(child.conversation).await?;
        if let Some(thread) = known.and_then(|row| row.thread) {
            return Ok(thread);
        }
        let _opening = self.bot.opening.begin(child.below);
        let thread = self.open_thread(child).await?;
        store.child_lives_in(child.conversation, thread).await?;
        Ok(thread)
    }

    async fn open_thread(&self, child: &ChildThread) -> Result<ChannelId, NoThread> {
        let wanted = json!({
            "name": child.name,
            "type": PUBLIC,
            "auto_archive_duration": ARCHIVED_AFTER,
        });
        let request = Request::new(route::create_thread(child.below), Urgency::Durable)
            .json(wanted)
            .once();
        let opened = tokio::time::timeout(OPENED_WITHIN, self.bot.rest.send(request));
        match opened.await {
            Err(_) => Err(NoThread::TooSlow),
            Ok(Err(error)) => Err(NoThread::Refused(self.why_no_thread(child.below, &error))),
            Ok(Ok(made)) => match snowflake(&made["id"]) {
                Some(id) => Ok(ChannelId(id)),
                None => Err(NoThread::Nameless),
            },
        }
    }

    fn why_no_thread(&self, channel: ChannelId, error: &RestError) -> String {
        if error.is_forbidden() {
            self.bot.refusal(Operation::OpenThread, channel, error)
        } else {
            explain::refusal(Operation::OpenThread, error)
        }
    }

    /// Archives a thread without further messages. If that fails, Discord does it itself after a while.
    pub(super) async fn archive(&self, thread: ChannelId) {
        let request = Request::new(route::edit_channel(thread), Urgency::Durable)
            .json(json!({"archived": true}))
            .once();
        if let Err(error) = self.bot.rest.send(request).await {
            debug!(channel.id = %thread, "failed to archive a thread: {error}");
        }
    }

    /// Sends the messages that were stored with the end of a child turn; without a thread they are dropped.
    async fn say_last(&self, thread: Option<ChannelId>, conversation: ConversationId) {
        let said = self.bot.store.say_in_thread(conversation).await;
        let Some(thread) = thread else {
            return;
        };
        match said {
            Ok(true) => self.bot.deliver(thread),
            Ok(false) => {
                // The parent's turn was interrupted, or the ledger failed.
                let mut last = NewPart::notice("-# It did not finish.");
                last.body.archives = true;
                self.post_in(thread, vec![last]).await;
            }
            Err(error) => {
                warn!(channel.id = %thread, "failed to say in its thread what a sub-agent came to: {error}");
            }
        }
    }

    async fn post_in(&self, thread: ChannelId, parts: Vec<NewPart>) {
        for part in parts {
            if let Err(error) = self.bot.store.post(thread, None, part).await {
                warn!(channel.id = %thread, "failed to store what a sub-agent says in its thread: {error}");
            }
        }
        self.bot.deliver(thread);
    }
}
