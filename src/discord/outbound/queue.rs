//! One channel's queue: deliveries first, then questions, then what a running turn looks like.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use super::live::{Done, Live};
use super::{Order, Outward};
use crate::agent::event::{TurnRef, TurnSummary};
use crate::domain::{ChannelId, MessageId};

/// Between two edits in a channel: community figures say 5 in 5 s, and replies want room too.
const EDIT_EVERY: Duration = Duration::from_millis(1_500);

/// How long the last deliveries may take when the room ends; the rest is sent at the next start.
const LAST_DELIVERY: Duration = Duration::from_secs(5);

pub(super) struct Queue {
    inbox: UnboundedReceiver<Order>,
    outward: Arc<Outward>,
    channel: ChannelId,
    tasks: TaskTracker,
    turns: Vec<Live>,
    /// The one edit, post or typing under way, and the message it changes.
    under_way: Option<(Option<MessageId>, JoinHandle<Done>)>,
    next_edit: Instant,
}

impl Queue {
    pub(super) fn new(
        outward: Arc<Outward>,
        channel: ChannelId,
        inbox: UnboundedReceiver<Order>,
        tasks: TaskTracker,
    ) -> Self {
        Self {
            inbox,
            outward,
            channel,
            tasks,
            turns: Vec::new(),
            under_way: None,
            next_edit: Instant::now(),
        }
    }

    pub(super) async fn run(mut self) {
        let stop = self.outward.stop.clone();
        loop {
            let wake = self.wake_at();
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                order = self.inbox.recv() => match order {
                    Some(order) => self.take(order).await,
                    None => break,
                },
                done = finished(&mut self.under_way) => self.note(done).await,
                () = tokio::time::sleep_until(wake), if !self.turns.is_empty() => self.act(),
            }
        }
        self.end().await;
    }

    async fn take(&mut self, order: Order) {
        match order {
            Order::Deliver => self.deliver().await,
            Order::Start(turn, feed) => {
                self.turns
                    .push(Live::new(turn, feed, self.outward.previews))
            }
            Order::End(turn, summary) => self.turn_ended(&turn, summary).await,
            Order::Say(reply_to, text) => self.outward.say(self.channel, reply_to, &text).await,
            Order::Ask(question) => {
                self.outward.approvals.ask(&self.outward, question).await;
            }
        }
    }

    /// Sends what the outbox holds. What replaces a preview waits for the preview's own edit, or that would win.
    async fn deliver(&mut self) {
        loop {
            let parts = match self.outward.store.next_parts(self.channel).await {
                Ok(parts) => parts,
                Err(error) => {
                    tracing::error!(%error, "the outbox cannot be read; it is read again with the next message");
                    return;
                }
            };
            let Some(mut part) = parts.into_iter().next() else {
                return;
            };
            loop {
                if let Some(preview) = part.edits {
                    self.wait_for_edit_of(preview).await;
                    self.forget_preview(preview);
                }
                match self.outward.deliver(part).await {
                    super::deliver::Delivery::Next(next) => part = next,
                    super::deliver::Delivery::Settled => break,
                    super::deliver::Delivery::Stuck => return,
                }
            }
        }
    }

    async fn turn_ended(&mut self, turn: &TurnRef, summary: TurnSummary) {
        self.deliver().await;
        let ended = self
            .turns
            .iter_mut()
            .find(|live| live.turn().turn == turn.turn);
        if let Some(live) = ended {
            live.end(summary);
        }
        self.next_edit = self.next_edit.min(Instant::now());
        self.turns.retain(|live| !live.is_over());
    }

    /// Begins the most urgent deed of the running turns, if it is time for one.
    fn act(&mut self) {
        if self.under_way.is_some() {
            return;
        }
        let now = Instant::now();
        let may_edit = now >= self.next_edit;
        let Some(deed) = self
            .turns
            .iter_mut()
            .find_map(|live| live.next_deed(now, may_edit))
        else {
            return;
        };
        if deed.is_edit() {
            self.next_edit = now + EDIT_EVERY;
        }
        let message = deed.message();
        let outward = Arc::clone(&self.outward);
        let handle = self
            .tasks
            .spawn(async move { deed.perform(&outward).await });
        self.under_way = Some((message, handle));
    }

    async fn note(&mut self, done: Done) {
        if let Some(live) = self
            .turns
            .iter_mut()
            .find(|live| live.turn().turn == done.turn)
        {
            live.note(done, &self.outward.store).await;
        }
        self.turns.retain(|live| !live.is_over());
    }

    async fn wait_for_edit_of(&mut self, message: MessageId) {
        if !matches!(&self.under_way, Some((Some(id), _)) if *id == message) {
            return;
        }
        if let Some((_, handle)) = self.under_way.take() {
            if let Ok(done) = handle.await {
                self.note(done).await;
            }
        }
    }

    fn forget_preview(&mut self, message: MessageId) {
        for live in &mut self.turns {
            live.forget_preview(message);
        }
    }

    fn wake_at(&self) -> Instant {
        let now = Instant::now();
        let due = self.turns.iter().map(|live| live.due(now, self.next_edit));
        due.min().unwrap_or(now)
    }

    /// The room ends: what can still be said in a moment is said.
    async fn end(mut self) {
        let last = async {
            if let Some((_, handle)) = self.under_way.take() {
                if let Ok(done) = handle.await {
                    self.note(done).await;
                }
            }
            self.deliver().await;
            for live in &mut self.turns {
                if let Some(deed) = live.last_deed() {
                    deed.perform(&self.outward).await;
                }
            }
        };
        let _ = tokio::time::timeout(LAST_DELIVERY, last).await;
    }
}

/// The result of what is under way, once it is there; never, when nothing is.
async fn finished(under_way: &mut Option<(Option<MessageId>, JoinHandle<Done>)>) -> Done {
    let Some((_, handle)) = under_way else {
        return std::future::pending().await;
    };
    let done = handle.await;
    *under_way = None;
    match done {
        Ok(done) => done,
        // It panicked: its own message stays as it was.
        Err(_) => std::future::pending().await,
    }
}
