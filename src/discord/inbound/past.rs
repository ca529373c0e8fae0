//! Reads messages that were written in a channel while the daemon was away.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use chrono::Utc;
use serenity::all::Message;
use tracing::{error, info, warn};

use super::{Queue, Taken, log_failure};
use crate::discord::gateway::event::normalise_message;
use crate::discord::inbound::catch_up::{self, Bounds};
use crate::discord::rest::explain::Operation;
use crate::discord::rest::route;
use crate::discord::rest::{RestError, snowflake};
use crate::domain::{GuildId, MessageId};

/// The pause before the next attempt to read past messages.
const READ_PAUSE: Duration = Duration::from_secs(5);

/// Messages read in one request.
const PAGE: usize = 100;

impl Queue {
    /// Reads the messages after the cursor and takes them, oldest first.
    pub(super) async fn catch_up(&mut self, guild: GuildId) {
        self.take_missed(guild).await;
        let deps = self.bot.manager.deps();
        deps.interruptions.is_caught_up(self.channel);
    }

    async fn take_missed(&mut self, guild: GuildId) {
        let Some(agent) = self.agent(guild) else {
            return self.shared.mark_caught_up(self.channel);
        };
        let bounds = self.bounds();
        let Some(messages) = self.missed().await else {
            return;
        };
        self.shared.mark_caught_up(self.channel);
        if messages.is_empty() {
            return;
        }
        let ids = messages
            .iter()
            .map(|message| MessageId(message.id.get()))
            .collect();
        let plan = catch_up::plan(ids, bounds, Utc::now());
        let mut by_id: HashMap<MessageId, Message> = messages
            .into_iter()
            .map(|message| (MessageId(message.id.get()), message))
            .collect();
        let skipped = plan
            .skip
            .iter()
            .filter(|id| by_id.get(id).is_some_and(|message| self.counts(message)))
            .count();
        if skipped > 0 {
            self.say_skipped(skipped, bounds).await;
        }
        let newest = by_id.keys().max().copied();
        let taken = plan.take.len();
        for id in plan.take {
            if let Some(message) = by_id.remove(&id)
                && let Taken::NotYet = self.ingest(&agent, message).await
            {
                // The cursor stays before it.
                return self.shared.mark_behind(self.channel);
            }
        }
        self.authors.clear();
        if let Some(newest) = newest {
            log_failure(
                self.bot.store.advance_cursor(self.channel, newest).await,
                "move a cursor",
            );
        }
        info!(channel.id = %self.channel, taken, skipped, "caught up with {}", self.channel);
    }

    /// Returns the missed messages. Nothing new is taken before they are known, because that would move the cursor past
    /// them: while Discord cannot be reached, this waits. `None` if Discord does not let us read, or at the end.
    async fn missed(&self) -> Option<Vec<Message>> {
        loop {
            let error = match self.read_missed().await {
                Ok(messages) => return Some(messages),
                Err(error) => error,
            };
            warn!(%error, channel.id = %self.channel, "failed to read what was missed in {}", self.channel);
            if matches!(error, RestError::Unauthorized | RestError::Refused { .. }) {
                if error.is_forbidden() {
                    let why = self.bot.refusal(Operation::Read, self.channel, &error);
                    let text = format!(
                        "In <#{}>: {why} Messages sent there while I was offline will not be answered.",
                        self.channel
                    );
                    self.bot
                        .tell_operator(format!("read:{}", self.channel), text);
                }
                return None;
            }
            // A pause between attempts, so that an outage is not made worse.
            self.stop
                .run_until_cancelled(tokio::time::sleep(READ_PAUSE))
                .await?;
        }
    }

    async fn read_missed(&self) -> Result<Vec<Message>, RestError> {
        let cursor = match self.bot.store.cursor(self.channel).await {
            Ok(cursor) => cursor.unwrap_or(MessageId(self.channel.0)),
            Err(error) => return Err(RestError::Unreachable(error.to_string())),
        };
        let most = self.bounds().max_messages;
        let mut after = cursor;
        let mut missed: VecDeque<Message> = VecDeque::new();
        loop {
            let query = format!("after={after}&limit={PAGE}");
            let page = self
                .bot
                .rest
                .call(route::messages(self.channel, &query))
                .await?;
            let page = page.as_array().cloned().unwrap_or_default();
            let count = page.len();
            let Some(newest) = page
                .iter()
                .filter_map(|message| snowflake(&message["id"]))
                .max()
            else {
                break;
            };
            missed.extend(page.into_iter().filter_map(readable));
            // Only the newest are taken; older ones only need to be counted.
            let surplus = missed
                .len()
                .saturating_sub(most.saturating_mul(4).max(4 * PAGE));
            missed.drain(..surplus);
            after = MessageId(newest);
            if count < PAGE {
                break;
            }
        }
        Ok(missed.into())
    }

    async fn say_skipped(&self, skipped: usize, bounds: Bounds) {
        let line = catch_up::skipped_line(skipped, bounds);
        if let Err(error) = self.bot.store.notice(self.channel, &line).await {
            error!(%error, channel.id = %self.channel, "failed to store a notice");
            return;
        }
        self.bot.deliver(self.channel);
    }

    fn bounds(&self) -> Bounds {
        let config = self.bot.config.load();
        Bounds {
            max_age: chrono::Duration::from_std(config.catch_up.max_age.get())
                .unwrap_or(chrono::Duration::MAX),
            max_messages: config.catch_up.max_messages.get() as usize,
        }
    }
}

/// Returns a message as serenity reads it; one that it cannot read is skipped.
pub(super) fn readable(mut message: serde_json::Value) -> Option<Message> {
    let id = snowflake(&message["id"]);
    if let Some(message) = message.as_object_mut() {
        normalise_message(message);
    }
    let read = serde_json::from_value(message);
    if let Err(error) = &read {
        warn!(%error, message.id = ?id, "failed to read a message, which is passed over");
    }
    read.ok()
}
