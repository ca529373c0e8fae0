//! How a running turn is asked to end.

pub(super) mod at_work;
pub(super) mod deadline;
pub(super) mod work_clock;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::task_tracker::TaskTrackerToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use crate::domain::{Author, ConversationId, Inbound, Person, TurnId, UserId};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Stop {
    /// `/stop`: end what runs now, then one last step without tools.
    Graceful = 1,
    /// `/abort`: end at once.
    Abort = 2,
    /// The daemon stops: end at once, and say so.
    Shutdown = 3,
}

/// Who stopped a turn, as people are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopper {
    Person(Author),
    /// A person who destroyed the agent.
    Destroyer(Author),
    Shutdown,
    /// Something of the daemon, in words that go before "stopped the turn".
    Machine(&'static str),
}

impl From<&Person> for Stopper {
    fn from(person: &Person) -> Self {
        Self::Person(person.into())
    }
}

impl Stopper {
    /// Returns the person; `None` where it was the daemon.
    pub const fn person(&self) -> Option<UserId> {
        match self {
            Self::Person(person) | Self::Destroyer(person) => Some(person.id),
            Self::Shutdown | Self::Machine(_) => None,
        }
    }
}

/// Cancels `token` after `time`, unless the returned handle is dropped before.
pub(super) fn cancelled_after(token: &CancellationToken, time: Duration) -> AbortOnDropHandle<()> {
    if time.is_zero() {
        token.cancel();
    }
    let token = token.clone();
    AbortOnDropHandle::new(tokio::spawn(async move {
        tokio::time::sleep(time).await;
        token.cancel();
    }))
}

/// How one turn is told to [`Stop`]. Cheap to clone; all clones are told the same.
#[derive(Clone, Debug, Default)]
pub(super) struct StopSignal {
    asked: Arc<AtomicU8>,
    /// Who asked first.
    by: Arc<OnceLock<Stopper>>,
    /// Cancelled by any kind of stop: ends model requests and tools that run now.
    now: CancellationToken,
    /// Cancelled by abort and shutdown only.
    hard: CancellationToken,
    /// Cancelled by an abort only.
    aborted: CancellationToken,
    /// The signal of the parent turn: what ends it ends its children.
    above: Option<Box<StopSignal>>,
    /// The signals of all child turns of the run that have not ended.
    children: Arc<Mutex<Children>>,
    /// The tasks of the child turns below it.
    tasks: TaskTracker,
}

/// The signals of child turns, and how those that people can write to are found.
type Children = BTreeMap<TurnId, (StopSignal, Option<RunningChild>)>;

/// How a child turn is found by those who write to it.
#[derive(Clone, Debug)]
pub(super) struct RunningChild {
    pub(super) conversation: ConversationId,
    steer: mpsc::UnboundedSender<Box<Inbound>>,
    /// Everything that was handed to it, in case it ends without taking note of it.
    handed: Arc<Mutex<Vec<Inbound>>>,
}

impl RunningChild {
    /// A child that works in `conversation`, and the queue for what people write to it.
    pub(super) fn new(
        conversation: ConversationId,
    ) -> (Self, mpsc::UnboundedReceiver<Box<Inbound>>) {
        let (steer, steered) = mpsc::unbounded_channel();
        let running = Self {
            conversation,
            steer,
            handed: Arc::default(),
        };
        (running, steered)
    }

    /// Hands it a message, which is returned where it takes no more.
    fn hand(&self, message: Box<Inbound>) -> Option<Box<Inbound>> {
        let late = self.steer.send(message.clone());
        if let Err(back) = late {
            return Some(back.0);
        }
        self.handed.lock().push(*message);
        None
    }

    /// What it was handed.
    pub(super) fn take_handed(&self) -> Vec<Inbound> {
        std::mem::take(&mut self.handed.lock())
    }
}

/// Makes a child turn known to its run, so that it can be stopped alone, until this is dropped.
pub(super) struct Stoppable {
    child: TurnId,
    signal: StopSignal,
}

impl Drop for Stoppable {
    fn drop(&mut self) {
        self.signal.children.lock().remove(&self.child);
    }
}

impl StopSignal {
    /// Asks for `stop`. A second `Graceful` becomes an `Abort`: the person does not want to wait.
    pub(super) fn ask(&self, stop: Stop, by: &Stopper) {
        self.by.get_or_init(|| by.clone());
        let stop = match (self.asked(), stop) {
            (Some(Stop::Graceful), Stop::Graceful) => Stop::Abort,
            _ => stop,
        };
        self.asked.fetch_max(stop as u8, Ordering::AcqRel);
        if stop == Stop::Abort {
            self.aborted.cancel();
        }
        self.now.cancel();
        if stop > Stop::Graceful {
            self.hard.cancel();
        }
    }

    /// The signal of a child turn.
    pub(super) fn below(&self) -> Self {
        Self {
            asked: Arc::default(),
            by: Arc::default(),
            now: self.now.child_token(),
            hard: self.hard.child_token(),
            aborted: self.aborted.child_token(),
            above: Some(Box::new(self.clone())),
            children: Arc::clone(&self.children),
            tasks: TaskTracker::new(),
        }
    }

    /// What the task of this child turn keeps until it is gone, for those above that wait for that.
    pub(super) fn task_below(&self) -> Vec<TaskTrackerToken> {
        let parent = self.above.as_deref();
        let above = std::iter::successors(parent, |one| one.above.as_deref());
        above.map(|one| one.tasks.token()).collect()
    }

    /// Waits until no child turn below this turn has a task. One that was dropped is still there for a moment, and leaves what it
    /// did not store.
    pub(super) async fn nothing_is_below(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Has this signal of a child turn found by the turn's id.
    pub(super) fn found_as(&self, child: TurnId, running: Option<RunningChild>) -> Stoppable {
        let found = (self.clone(), running);
        self.children.lock().insert(child, found);
        Stoppable {
            child,
            signal: self.clone(),
        }
    }

    /// Asks a child turn of the run to `stop`; returns whether it is at work.
    pub(super) fn ask_child(&self, child: TurnId, stop: Stop, by: &Stopper) -> bool {
        let found = self.children.lock().get(&child).cloned();
        if let Some((signal, _)) = &found {
            signal.ask(stop, by);
        }
        found.is_some()
    }

    /// The child turn of the run that works in `conversation`.
    pub(super) fn child_in(&self, conversation: ConversationId) -> Option<TurnId> {
        let children = self.children.lock();
        let mut all = children.iter();
        all.find(|(_, (_, running))| {
            running
                .as_ref()
                .is_some_and(|one| one.conversation == conversation)
        })
        .map(|(child, _)| *child)
    }

    /// Hands a message to the child turn of the run that works in `conversation`; the message is returned where none takes
    /// it.
    pub(super) fn hand_child(
        &self,
        conversation: ConversationId,
        message: Box<Inbound>,
    ) -> Option<Box<Inbound>> {
        let children = self.children.lock();
        let mut all = children
            .values()
            .filter_map(|(_, running)| running.as_ref());
        match all.find(|running| running.conversation == conversation) {
            Some(running) => running.hand(message),
            None => Some(message),
        }
    }

    /// Whether this turn itself was asked to stop, and not one above it.
    pub(super) fn is_own(&self) -> bool {
        self.asked.load(Ordering::Acquire) > 0
    }

    /// The strongest stop that was asked for, of this turn or of one above it.
    pub(super) fn asked(&self) -> Option<Stop> {
        match self.strongest() {
            0 => None,
            1 => Some(Stop::Graceful),
            2 => Some(Stop::Abort),
            _ => Some(Stop::Shutdown),
        }
    }

    fn strongest(&self) -> u8 {
        let above = self.above.as_ref().map_or(0, |above| above.strongest());
        self.asked.load(Ordering::Acquire).max(above)
    }

    /// Who stopped the turn; before anybody did, it can only be the daemon.
    pub(super) fn by(&self) -> Stopper {
        let above = self.above.as_ref().map(|above| above.by());
        let by = self.by.get().cloned().or(above);
        by.unwrap_or(Stopper::Shutdown)
    }

    /// Ends with any kind of stop.
    pub(super) fn now(&self) -> &CancellationToken {
        &self.now
    }

    /// Cancelled by abort and shutdown: for the last step.
    pub(super) fn hard(&self) -> &CancellationToken {
        &self.hard
    }

    /// Cancelled by an abort alone: a daemon that stops leaves commands the time to end in order.
    pub(super) fn aborted(&self) -> &CancellationToken {
        &self.aborted
    }
}
