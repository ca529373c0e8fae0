//! Sends the agents' messages: one queue per channel, so that order is kept and no channel waits for another.
//!
//! ```text
//! agent::Event ─▶ Outbound ─▶ Queue (one per channel in use) ─▶ Rest
//!                               ├ deliver: parts of the ledger's outbox, in order, once      (D9)
//!                               ├ live: status, preview, typing, reactions of running turns  (may be dropped)
//!                               └ approval: a question with its buttons                      (approvals)
//! ```
//!
//! A quiet queue costs a sleeping task. Replies have priority over edits: an edit that would have to wait is skipped,
//! and a reply waits for an edit only if both concern the same message.

mod approval;
mod deliver;
pub(super) mod leftovers;
mod live;
mod live_request;
mod threads;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::select_all;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::deliver::Delivery;
use self::live::Live;
use self::live_request::Done;
use super::bot::Bot;
use crate::agent::event::{Event, Feed, Question, TurnRef, TurnSummary};
use crate::domain::{ChannelId, MessageId, TurnId};
use crate::store::{Part, PartKind};

/// All queues. Owned by the hub, which waits for them at the end.
pub(super) struct Outbound {
    context: Arc<OutboundContext>,
    queues: HashMap<ChannelId, UnboundedSender<OutboundCommand>>,
    tasks: TaskTracker,
}

impl Outbound {
    pub(super) fn new(context: OutboundContext) -> Self {
        Self {
            context: Arc::new(context),
            queues: HashMap::new(),
            tasks: TaskTracker::new(),
        }
    }

    /// Passes an event to its channel's queue. Events without a channel do not come here.
    pub(super) fn show(&mut self, event: Event) {
        match event {
            Event::Outbox(channel) => self.order(channel, OutboundCommand::Deliver),
            Event::Reply(part) => self.order(part.channel, OutboundCommand::Reply(part)),
            Event::TurnStarted(turn, feed) => {
                self.order(turn.channel, OutboundCommand::Start(Box::new((turn, feed))))
            }
            Event::TurnEnded(turn, summary) => {
                self.context.bot.approvals.turn_ended(turn.run);
                self.order(
                    turn.channel,
                    OutboundCommand::End(Box::new((turn, summary))),
                );
            }
            Event::Question(question) => {
                self.order(question.turn.channel, OutboundCommand::Ask(question))
            }
            Event::QuestionClosed { approval, end } => {
                self.context.bot.approvals.close(approval, end)
            }
            Event::CallEnded { approval, outcome } => {
                if let Some((channel, question)) = self.context.bot.approvals.ran(approval, outcome)
                {
                    self.order(channel, OutboundCommand::Receipt(question));
                }
            }
            Event::Say {
                channel,
                reply_to,
                text,
            } => self.order(channel, OutboundCommand::Say(reply_to, text)),
            Event::ChildBegan(child) => {
                let context = Arc::clone(&self.context);
                self.tasks.spawn(threads::show(context, *child));
            }
            Event::Bound(..)
            | Event::ServersChanged
            | Event::Unsettled(_)
            | Event::Presence { .. }
            | Event::Operator { .. } => {}
        }
    }

    /// Sends the messages in a channel's outbox.
    pub(super) fn deliver(&mut self, channel: ChannelId) {
        self.order(channel, OutboundCommand::Deliver);
    }

    /// Waits until all queues have ended, which they do when `stop` is cancelled.
    pub(super) async fn finish(self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    fn order(&mut self, channel: ChannelId, order: OutboundCommand) {
        let queue = self.queues.entry(channel).or_insert_with(|| {
            let (sender, inbox) = mpsc::unbounded_channel();
            let context = Arc::clone(&self.context);
            let queue = Queue::new(context, channel, inbox, self.tasks.clone());
            self.tasks.spawn(queue.run());
            sender
        });
        if queue.send(order).is_err() {
            // It ended with the hub; its unsent messages stay in the ledger.
            tracing::debug!(channel.id = %channel, "nothing more is shown in {channel}");
        }
    }
}

/// Time between two edits in a channel: community figures say 5 in 5 s, and replies need some of these.
const EDIT_EVERY: Duration = Duration::from_millis(1_500);

/// How long the last messages may take when the hub ends; the rest is sent at the next start.
const LAST_DELIVERY: Duration = Duration::from_secs(5);

struct Queue {
    inbox: UnboundedReceiver<OutboundCommand>,
    context: Arc<OutboundContext>,
    channel: ChannelId,
    tasks: TaskTracker,
    turns: Vec<Live>,
    /// The only edit, post or typing in progress.
    under_way: Option<UnderWay>,
    next_edit: Instant,
    /// The newest part that was begun; parts are sent in the order of their ids.
    newest: i64,
}

impl Queue {
    fn new(
        context: Arc<OutboundContext>,
        channel: ChannelId,
        inbox: UnboundedReceiver<OutboundCommand>,
        tasks: TaskTracker,
    ) -> Self {
        Self {
            inbox,
            context,
            channel,
            tasks,
            turns: Vec::new(),
            under_way: None,
            next_edit: Instant::now(),
            newest: 0,
        }
    }

    async fn run(mut self) {
        let stop = self.context.stop.clone();
        loop {
            let wake = self.wake_at();
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                order = self.inbox.recv() => match order {
                    // Allocated while it runs, so that an inactive channel needs no memory for it.
                    Some(order) => Box::pin(self.take(order)).await,
                    None => break,
                },
                done = finished(&mut self.under_way) => Box::pin(self.note(done)).await,
                () = any_changes(&mut self.turns) => {}
                () = tokio::time::sleep_until(wake), if self.may_act() => Box::pin(self.act()).await,
            }
        }
        Box::pin(self.end()).await;
    }

    async fn take(&mut self, order: OutboundCommand) {
        let is_over = matches!(order, OutboundCommand::End(..));
        if !is_over && !self.context.bot.may_post(self.channel).await {
            // Messages in the ledger are sent once the server is served again.
            return;
        }
        match order {
            OutboundCommand::Deliver => self.deliver().await,
            OutboundCommand::Reply(part) => self.reply(*part).await,
            OutboundCommand::Start(begun) => {
                let (turn, feed) = *begun;
                self.turns
                    .push(Live::new(turn, feed, self.context.previews))
            }
            OutboundCommand::End(ended) => self.turn_ended(&ended.0, ended.1),
            OutboundCommand::Say(reply_to, text) => {
                self.context.say(self.channel, reply_to, &text).await
            }
            OutboundCommand::Ask(question) => self.context.ask(question).await,
            OutboundCommand::Receipt(question) => self.receipt(question),
        }
    }

    /// Makes a card show how its calls ended, as one of the channel's edits.
    fn receipt(&mut self, question: i64) {
        let at = self.next_edit.max(Instant::now());
        self.next_edit = at + EDIT_EVERY;
        let (approvals, stop) = (
            self.context.bot.approvals.clone(),
            self.context.stop.clone(),
        );
        self.tasks.spawn(async move {
            // When the hub ends, it is shown at once.
            let _ = stop.run_until_cancelled(tokio::time::sleep_until(at)).await;
            approvals.show_receipt(question).await;
        });
    }

    /// Sends the contents of the outbox.
    async fn deliver(&mut self) {
        if let Some(part) = self.first_waiting().await {
            self.deliver_from(part).await;
        }
    }

    /// Sends a part that was next when it was queued, unless it was found in the outbox meanwhile.
    async fn reply(&mut self, part: Part) {
        if part.id > self.newest {
            self.deliver_from(part).await;
        }
    }

    async fn first_waiting(&self) -> Option<Part> {
        match self.context.bot.store.next_parts(self.channel).await {
            Ok(parts) => parts.into_iter().next(),
            Err(error) => {
                tracing::error!(%error, channel.id = %self.channel, "failed to read the outbox; reading it again with the next message");
                None
            }
        }
    }

    /// Sends `part` and all parts after it.
    async fn deliver_from(&mut self, part: Part) {
        let mut next = Some(part);
        while let Some(part) = next {
            self.newest = part.id;
            let part = self.in_place_of_preview(part).await;
            let ends = part.turn.filter(|_| is_outcome(&part));
            let delivery = self.context.deliver(part).await;
            if let Some(live) = self.live(ends)
                && !matches!(delivery, Delivery::Stuck)
            {
                live.has_spoken();
            }
            next = match delivery {
                Delivery::Next(part) => Some(*part),
                Delivery::Settled => self.first_waiting().await,
                Delivery::Last | Delivery::Stuck => None,
            };
        }
    }

    /// Replaces a preview by its final words, if the channel has seen one. This waits for the preview's own post or
    /// edit, which would otherwise overwrite them.
    async fn in_place_of_preview(&mut self, part: Part) -> Part {
        let Some(step) = part.body.step.filter(|_| part.edits.is_none()) else {
            return part;
        };
        let is_posted_now = self
            .under_way
            .as_ref()
            .is_some_and(|operation| Some(operation.turn) == part.turn && operation.is_new_preview);
        if is_posted_now {
            self.wait_for_operation().await;
        }
        let Some(preview) = self.live(part.turn).and_then(|live| live.preview_of(step)) else {
            return part;
        };
        self.wait_for_edit_of(preview).await;
        // The request in progress may have deleted the preview.
        if self.live(part.turn).and_then(|live| live.preview_of(step)) != Some(preview) {
            return part;
        }
        if let Err(error) = self.context.bot.store.take_place_of(part.id, preview).await {
            tracing::warn!(%error, part.id, "failed to store which message part {} takes the place of; posting it", part.id);
            return part;
        }
        if let Some(live) = self.live(part.turn) {
            live.gives_preview_away();
        }
        Part {
            edits: Some(preview),
            ..part
        }
    }

    fn live(&mut self, turn: Option<TurnId>) -> Option<&mut Live> {
        let turn = turn?;
        self.turns.iter_mut().find(|live| live.turn().turn == turn)
    }

    fn turn_ended(&mut self, turn: &TurnRef, summary: TurnSummary) {
        if let Some(live) = self.live(Some(turn.turn)) {
            live.end(summary);
        }
        self.next_edit = self.next_edit.min(Instant::now());
        self.forget_ended();
    }

    /// Forgets ended turns, but keeps a turn with a post in progress, because its id is not yet known.
    fn forget_ended(&mut self) {
        let busy = self.under_way.as_ref().map(|operation| operation.turn);
        self.turns
            .retain(|live| !live.is_over() || busy == Some(live.turn().turn));
    }

    fn may_act(&self) -> bool {
        !self.turns.is_empty() && self.under_way.is_none()
    }

    /// Begins the most urgent request of the running turns, if it is time for one. If the server is no longer served,
    /// nothing more is shown.
    async fn act(&mut self) {
        if !self.context.bot.may_post(self.channel).await {
            self.turns.clear();
            return;
        }
        let now = Instant::now();
        let may_edit = now >= self.next_edit;
        let Some(operation) = self
            .turns
            .iter_mut()
            .find_map(|live| live.next_request(now, may_edit))
        else {
            return;
        };
        if operation.is_edit() {
            self.next_edit = now + EDIT_EVERY;
        }
        let (turn, message) = (operation.turn(), operation.message());
        let is_new_preview = operation.is_new_preview();
        let context = Arc::clone(&self.context);
        let task = self
            .tasks
            .spawn(async move { operation.perform(&context).await });
        self.under_way = Some(UnderWay {
            turn,
            message,
            is_new_preview,
            task,
        });
    }

    async fn note(&mut self, done: Done) {
        let turn = done.turn;
        if let Some(live) = self.turns.iter_mut().find(|live| live.turn().turn == turn) {
            live.note(done, &self.context.bot.store).await;
        }
        self.forget_ended();
    }

    async fn wait_for_edit_of(&mut self, message: MessageId) {
        let is_edited = self
            .under_way
            .as_ref()
            .is_some_and(|operation| operation.message == Some(message));
        if is_edited {
            self.wait_for_operation().await;
        }
    }

    async fn wait_for_operation(&mut self) {
        let Some(operation) = self.under_way.take() else {
            return;
        };
        if let Ok(done) = operation.task.await {
            self.note(done).await;
        }
    }

    fn wake_at(&self) -> Instant {
        let now = Instant::now();
        let due = self.turns.iter().map(|live| live.due(now, self.next_edit));
        due.min().unwrap_or(now)
    }

    /// Ends the queue with the hub: sends everything that can still be sent quickly.
    async fn end(mut self) {
        while let Ok(order) = self.inbox.try_recv() {
            if let OutboundCommand::End(ended) = order
                && let Some(live) = self.live(Some(ended.0.turn))
            {
                live.end(ended.1);
            }
        }
        // Slower work stays in the ledger, or is cleaned up at the next start.
        let _ = tokio::time::timeout(LAST_DELIVERY, self.say_last()).await;
    }

    async fn say_last(&mut self) {
        self.wait_for_operation().await;
        if !self.context.bot.may_post(self.channel).await {
            return;
        }
        self.deliver().await;
        for mut live in std::mem::take(&mut self.turns) {
            while let Some(operation) = live.last_request() {
                let done = operation.perform(&self.context).await;
                live.note(done, &self.context.bot.store).await;
            }
        }
    }
}

/// Returns whether a part belongs to a turn's outcome, and not to the words before a call or a file sent meanwhile.
fn is_outcome(part: &Part) -> bool {
    matches!(part.kind, PartKind::Reply | PartKind::Failure) && !part.body.is_silent
}

/// Waits until one of the turns has something new to show.
async fn any_changes(turns: &mut [Live]) {
    if turns.is_empty() {
        return std::future::pending().await;
    }
    select_all(turns.iter_mut().map(|live| Box::pin(live.changes()))).await;
}

/// A request for a turn's live messages that is not yet answered.
struct UnderWay {
    turn: TurnId,
    /// The message it changes.
    message: Option<MessageId>,
    /// It may post a preview with an id that is not yet known.
    is_new_preview: bool,
    task: JoinHandle<Done>,
}

/// Returns the result of the request in progress, once it has finished; waits forever if there is none.
async fn finished(under_way: &mut Option<UnderWay>) -> Done {
    let Some(operation) = under_way else {
        return std::future::pending().await;
    };
    let done = (&mut operation.task).await;
    *under_way = None;
    match done {
        Ok(done) => done,
        // It panicked, which was reported: its message stays as it was.
        Err(_) => std::future::pending().await,
    }
}

/// One command for a channel's queue. A queue has room for 32 from the beginning, so large ones are boxed.
#[derive(Debug)]
enum OutboundCommand {
    Deliver,
    /// This part is next; it is marked `sending`.
    Reply(Box<Part>),
    Start(Box<(TurnRef, Feed)>),
    End(Box<(TurnRef, TurnSummary)>),
    Ask(Box<Question>),
    /// The card of this question shows how its calls ended.
    Receipt(i64),
    /// Words that are not in the ledger, because the ledger failed.
    Say(Option<MessageId>, String),
}

#[derive(Clone)]
pub(in crate::discord) struct OutboundContext {
    pub(in crate::discord) bot: Bot,
    /// Whether answers are shown while they grow.
    pub(in crate::discord) previews: Previews,
    /// Ends when the hub does.
    pub(in crate::discord) stop: CancellationToken,
}

/// Whether answers are shown while the model speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Previews {
    /// They are (`stream_replies`).
    Shown,
    /// Answers are posted whole.
    Hidden,
}
