//! The way in: one queue per channel, so that messages reach an agent in the order they were written.
//!
//! After each new connection a channel's first business is what was missed: its past is read from the ledger's cursor
//! on before anything new is taken, by the same path. A message that was read there and comes by the gateway too, or that a
//! resumed session repeats, is one message: a queue judges an id once, and the ledger takes it once (D1).

pub mod catch_up;
pub mod message;
mod queue;
mod shared;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serenity::all::{Attachment, Message};
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{Instrument as _, debug};

use self::catch_up::Place;
use self::queue::Queue;
pub(super) use self::shared::Shared;
use super::bot::Bot;
use crate::domain::{ChannelId, GuildId, MessageId};

/// One thing that a channel's queue deals with.
#[derive(Debug)]
pub(super) enum ChannelEvent {
    /// A message was written.
    Message(Box<Message>),
    /// A message's text was changed, and perhaps its files.
    Edited(MessageId, String, Option<Vec<Attachment>>),
    /// A message was deleted.
    Deleted(MessageId),
    /// Discord says that there is something newer here than the ledger knows.
    CatchUp(GuildId),
    /// The session was resumed: look for what the replay may have missed.
    Resumed,
}

/// All channels' queues.
pub(super) struct Ingress {
    bot: Bot,
    queues: HashMap<ChannelId, UnboundedSender<ChannelEvent>>,
    shared: Arc<Shared>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Ingress {
    pub(super) fn new(bot: Bot, shared: Arc<Shared>, stop: CancellationToken) -> Self {
        Self {
            bot,
            queues: HashMap::new(),
            shared,
            tasks: TaskTracker::new(),
            stop,
        }
    }

    /// A new session: every channel may have missed something.
    pub(super) fn session_began(&self) {
        self.shared.epoch.fetch_add(1, Ordering::Relaxed);
    }

    /// A server is known now, with its channels and threads.
    pub(super) fn server_described(&self) {
        self.shared.described.send_modify(|count| *count += 1);
    }

    /// The old session goes on: channels that were in use look again.
    pub(super) fn resumed(&mut self) {
        for queue in self.queues.values() {
            // A queue that has ended has nothing to look for.
            let _ = queue.send(ChannelEvent::Resumed);
        }
    }

    /// A channel or thread as Discord describes it after connecting. Without anything missed, no queue is made.
    pub(super) fn place(&mut self, guild: GuildId, place: Place) {
        if catch_up::read_after(&place).is_none() && !self.queues.contains_key(&place.channel) {
            self.shared.mark_caught_up(place.channel);
            return;
        }
        self.send(place.channel, ChannelEvent::CatchUp(guild));
    }

    /// Messages of a channel were passed over: it is read from where it was left.
    pub(super) fn read_again(&mut self, guild: GuildId, channel: ChannelId) {
        self.shared.mark_behind(channel);
        self.send(channel, ChannelEvent::CatchUp(guild));
    }

    /// Something happened to a message of a channel; where none was taken since the start, there is nothing to do.
    pub(super) fn send_if_open(&mut self, channel: ChannelId, event: ChannelEvent) {
        if self.queues.contains_key(&channel) {
            self.send(channel, event);
        }
    }

    pub(super) fn send(&mut self, channel: ChannelId, event: ChannelEvent) {
        let queue = self.queues.entry(channel).or_insert_with(|| {
            let (sender, inbox) = mpsc::unbounded_channel();
            let shared = Arc::clone(&self.shared);
            let queue = Queue::new(inbox, self.bot.clone(), shared, channel, self.stop.clone());
            let span = tracing::info_span!("inbound", channel.id = %channel);
            self.tasks.spawn(queue.run().instrument(span));
            sender
        });
        if queue.send(event).is_err() {
            debug!(channel.id = %channel, "an event was dropped: the queue of {channel} has ended");
        }
    }

    /// Waits until all queues have ended; they do when `stop` is cancelled.
    pub(super) async fn finish(self) {
        drop(self.queues);
        self.tasks.close();
        self.tasks.wait().await;
    }
}
