//! What can be put into an agent's mailbox.

use chrono::{DateTime, Utc};
use tokio::sync::oneshot;

use crate::agent::event::Progress;
use crate::agent::files::beginning::Beginning;
use crate::agent::sessions::SessionError;
use crate::agent::stop::{Stop, Stopper};
use crate::agent::turn::trigger::Trigger;
use crate::domain::{ChannelId, ConversationId, Inbound, Item, SessionMeta, TurnId};
use crate::store::{PlanOf, StoreError};

/// Something for an actor to do.
#[derive(Debug)]
pub enum AgentCommand {
    /// A person's message, committed already, and what was read of the agent as it came.
    Message(Box<Inbound>, Option<Box<Beginning>>),
    /// A turn asked for by other means than a message in the channel.
    Prompt(Box<Prompt>),
    /// Find out which of these turns, each of which asks people, takes this message in. The message was handed over before.
    Meant(Box<Inbound>, Vec<TurnId>, oneshot::Sender<Option<TurnId>>),
    /// Find out which conversation this message belongs to. It is not handed over.
    Belongs(Box<Inbound>, oneshot::Sender<Option<ConversationId>>),
    /// Somebody wrote in this channel or thread, and not to the agent: the silence is over.
    Activity(ChannelId),
    /// End turns: of one conversation, or all.
    Stop(Target, Stop, Stopper, oneshot::Sender<Stopped>),
    /// Act on a conversation's context, for the person named in the outcome of a turn that ends for it.
    Context(Target, Stopper, ContextAction),
    /// Close branches: their turns end, what waits for them is dropped, and nothing leads to them any more.
    CloseBranches(
        Target,
        Stopper,
        oneshot::Sender<Result<ClosedBranches, StoreError>>,
    ),
    /// Read what the first turn needs, before it begins.
    GetReady,
    /// Give the conversation that opened this branch the report of the branch.
    Report(ConversationId),
    Status(oneshot::Sender<Vec<ConversationState>>),
    /// Forget everything: the agent is gone or renamed. Running turns end first; nothing is saved.
    Close(oneshot::Sender<()>),
    /// The daemon stops, or does nothing more for this agent: end turns, save contexts, answer with the sessions saved.
    Shutdown(Stopper, oneshot::Sender<Vec<SessionMeta>>),
    /// The agent is being destroyed: end turns, save contexts with that trigger.
    SaveForDestroy(
        Stopper,
        oneshot::Sender<Result<Vec<SessionMeta>, SessionError>>,
    ),
    /// The agent is not destroyed after all, though its contexts were saved for that: it continues, with what came
    /// meanwhile.
    Spared,
}

/// Which conversations a command is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The one seen in this channel: the agent's own, or a branch's thread.
    Channel(ChannelId),
    /// The one that runs this turn.
    Turn(TurnId),
    /// This child turn of a run alone, and all below it.
    Child(TurnId),
    /// The child turn that works in this conversation, if one does.
    ChildIn(ConversationId),
    /// The one with this key.
    Conversation(ConversationId),
    /// The branch with this number.
    Branch(u32),
    /// All branches that live in threads below this channel.
    Threads(ChannelId),
    /// All branches, not the main conversation.
    Branches,
    All,
}

/// A turn asked for by other means than a message in the channel.
#[derive(Debug)]
pub struct Prompt {
    /// What starts it, and how it differs from an ordinary turn.
    pub trigger: Trigger,
    pub place: Place,
}

#[derive(Debug)]
pub enum Place {
    /// The conversation seen in this channel.
    Channel(ChannelId),
    /// The conversation with this id, if it is still open; else the main one.
    Conversation(ConversationId),
    NewBranch(NewBranch),
}

/// A branch that is about to be opened.
#[derive(Debug, Default)]
pub struct NewBranch {
    /// The thread it lives in; `None`: the agent's channel.
    pub thread: Option<ChannelId>,
    /// The role that it works as.
    pub role: Option<String>,
    /// The conversation that gets the report of its first turn.
    pub reports_to: Option<ConversationId>,
    /// Its first items.
    pub history: Vec<Item>,
    /// The conversation that these are of.
    pub from: Option<ConversationId>,
    /// The schedule or webhook whose run it is for.
    pub plan: Option<PlanOf>,
    /// Gets its number.
    pub opened: Option<oneshot::Sender<u32>>,
}

/// What can be done with a context.
#[derive(Debug)]
pub enum ContextAction {
    /// Save it; clear it afterwards if asked to.
    Save {
        /// The label a person gave.
        description: Option<String>,
        /// What happens to the context.
        then: AfterSave,
        reply: oneshot::Sender<Result<SessionMeta, SessionError>>,
    },
    /// Discard it, saved before if asked to.
    Clear {
        /// Whether it is saved first.
        first: BeforeClear,
        reply: oneshot::Sender<Result<Cleared, SessionError>>,
    },
    /// Replace it with a saved session.
    Restore {
        /// What the person typed.
        session: String,
        reply: oneshot::Sender<Result<Restored, SessionError>>,
    },
    /// Replace all but the recent part with a summary.
    Compact {
        /// The outcome in one line.
        reply: oneshot::Sender<Result<String, SessionError>>,
    },
}

impl ContextAction {
    /// Tells whoever waits for the outcome that it is not done.
    pub(in crate::agent) fn refuse(self, why: SessionError) {
        match self {
            Self::Save { reply, .. } => drop(reply.send(Err(why))),
            Self::Clear { reply, .. } => drop(reply.send(Err(why))),
            Self::Restore { reply, .. } => drop(reply.send(Err(why))),
            Self::Compact { reply } => drop(reply.send(Err(why))),
        }
    }
}

/// What happens to a context after it was saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterSave {
    Keep,
    Clear,
}

/// What happens to a context before it is cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BeforeClear {
    /// Nothing: it is lost.
    Discard,
    Save,
}

/// The outcome of closing branches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClosedBranches {
    pub branches: usize,
    /// How many of their turns ran.
    pub turns: usize,
    /// The sessions they were saved as.
    pub saved: Vec<SessionMeta>,
    /// The numbers of those that stay open because they could not be saved, each with the reason.
    pub unsaved: Vec<(u32, String)>,
}

/// The outcome of a clear.
#[derive(Clone, Debug)]
pub struct Cleared {
    /// Messages that went.
    pub messages: usize,
    /// A turn was ended for it.
    pub aborted: bool,
    /// The session it was saved as.
    pub saved: Option<SessionMeta>,
}

/// The outcome of a restore.
#[derive(Clone, Debug)]
pub struct Restored {
    pub meta: SessionMeta,
    /// Messages in the context now.
    pub messages: usize,
    /// Messages that were replaced.
    pub replaced: usize,
    /// The session they were saved as, unless they were saved before.
    pub saved_first: Option<SessionMeta>,
    /// What had to be repaired in the file's history.
    pub repaired: Vec<String>,
    /// A turn was ended for it.
    pub aborted: bool,
}

/// The outcome of a request to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// So many turns were asked to end.
    Turns(usize),
    /// A sub-agent was asked to end; the turn that waits for it continues.
    Child,
    /// A compaction by hand was ended; the conversation stays as it was.
    Compaction,
    /// The summary to save a conversation with was ended; it is saved without one.
    Summary,
    /// The same, of an agent that is being destroyed.
    LastSummary,
    /// The save after a silence was ended; the conversation stays as it was.
    IdleSave,
    Nothing,
}

/// The state of one conversation.
#[derive(Clone, Debug)]
pub struct ConversationState {
    pub id: ConversationId,
    /// Number of the branch; `None` for the main conversation.
    pub branch: Option<u32>,
    pub channel: ChannelId,
    /// Messages in its context.
    pub messages: usize,
    /// Tokens of its next request, or of the first one of its running turn; `None` where only the ledger has the items.
    pub tokens: Option<u64>,
    /// Messages and prompts that wait for the end of its turn or job.
    pub waiting: usize,
    /// When somebody last wrote or a tool last ran.
    pub last_activity: DateTime<Utc>,
    /// The turn that runs in it.
    pub turn: Option<RunningTurn>,
}

/// A turn as others see it while it runs.
#[derive(Clone, Debug)]
pub struct RunningTurn {
    pub id: TurnId,
    /// Its step, and what it does.
    pub progress: Progress,
}
