//! Shows what agents want seen: one queue per channel, so that order is kept and no channel waits for another.
//!
//! ```text
//! agent::Event ─▶ Outbound ─▶ Queue (one per channel in use) ─▶ Rest
//!                               ├ deliver: parts of the ledger's outbox, in order, once      (D9)
//!                               ├ live: status, preview, typing, reactions of running turns  (may be dropped)
//!                               └ approval: a question with its buttons                      (approvals)
//! ```
//!
//! A quiet queue costs a task that sleeps. Replies go before edits: an edit that would have to wait is not made, and
//! a reply waits for an edit only where both are of the same message.

mod approval;
mod command;
mod context;
mod deliver;
pub(super) mod leftovers;
mod live;
mod live_request;
mod queue;

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::mpsc::{self, UnboundedSender};
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

use self::command::OutboundCommand;
pub(super) use self::context::{OutboundContext, Previews};
use self::queue::Queue;
use crate::agent::event::Event;
use crate::domain::ChannelId;

/// All queues. Owned by the hub, which waits for them at the end.
pub(super) struct Outbound {
    outward: Arc<OutboundContext>,
    queues: HashMap<ChannelId, UnboundedSender<OutboundCommand>>,
    tasks: TaskTracker,
}

impl Outbound {
    pub(super) fn new(outward: OutboundContext) -> Self {
        Self {
            outward: Arc::new(outward),
            queues: HashMap::new(),
            tasks: TaskTracker::new(),
        }
    }

    /// Gives an event to its channel's queue. What is of no channel is not for here.
    pub(super) fn show(&mut self, event: Event) {
        match event {
            Event::Outbox(channel) => self.order(channel, OutboundCommand::Deliver),
            Event::Reply(part) => self.order(part.channel, OutboundCommand::Reply(part)),
            Event::TurnStarted(turn, feed) => {
                self.order(turn.channel, OutboundCommand::Start(turn, feed))
            }
            Event::TurnEnded(turn, summary) => {
                self.order(turn.channel, OutboundCommand::End(turn, summary))
            }
            Event::Question(question) => {
                self.order(question.turn.channel, OutboundCommand::Ask(question))
            }
            Event::QuestionClosed { approval, end } => {
                self.outward.bot.approvals.close(approval, end)
            }
            Event::Say {
                channel,
                reply_to,
                text,
            } => self.order(channel, OutboundCommand::Say(reply_to, text)),
            Event::Bound(..)
            | Event::ServersChanged
            | Event::Unsettled(_)
            | Event::Presence { .. }
            | Event::Operator { .. } => {}
        }
    }

    /// Delivers what a channel's outbox holds.
    pub(super) fn deliver(&mut self, channel: ChannelId) {
        self.order(channel, OutboundCommand::Deliver);
    }

    /// Waits until all queues have ended; they do when `stop` is cancelled.
    pub(super) async fn finish(self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    fn order(&mut self, channel: ChannelId, order: OutboundCommand) {
        let queue = self.queues.entry(channel).or_insert_with(|| {
            let (sender, inbox) = mpsc::unbounded_channel();
            let outward = Arc::clone(&self.outward);
            let queue = Queue::new(outward, channel, inbox, self.tasks.clone());
            let span = tracing::info_span!("outbound", channel.id = %channel);
            self.tasks.spawn(queue.run().instrument(span));
            sender
        });
        if queue.send(order).is_err() {
            // It ended with the hub; what it would have sent stays in the ledger.
            tracing::debug!(channel.id = %channel, "nothing more is shown in {channel}");
        }
    }
}
