//! What an agent wants the world to see.
//!
//! The agent has never heard of Discord: it emits these values, and whoever holds the receiver shows them.
//! What must not be lost travels by the ledger's outbox; [`Event::Outbox`] only says that there is something in it.

use std::time::Instant;

use chrono::{DateTime, Utc};
use tokio::sync::{mpsc, oneshot, watch};

use crate::domain::{
    AgentId, AgentName, CallId, ChannelId, ConversationId, Cost, GuildId, MessageId, TurnId, Usage,
    UserId,
};
use crate::store::{EndReason, NewPart, Part};

use super::stop::Stopper;

/// One thing to show.
#[derive(Debug)]
pub enum Event {
    /// The ledger's outbox holds parts for this channel.
    Outbox(ChannelId),
    /// This part leads its channel's outbox and is marked `sending`: it is to be posted now.
    Reply(Box<Part>),
    /// A channel is an agent's from now on; what was written there before that is still to be read.
    Bound(GuildId, ChannelId),
    /// Something that was begun with an agent of this server waits for Discord.
    Unsettled(GuildId),
    /// A turn began: typing and a live status are due. The feed says more as it goes on.
    TurnStarted(TurnRef, Feed),
    Question(Box<Question>),
    /// A question ended, and the ledger has it: its card says how.
    QuestionClosed {
        /// Id of the approval row.
        approval: i64,
        end: QuestionEnd,
    },
    /// A turn ended; its outcome is in the outbox already. What showed it at work goes.
    TurnEnded(TurnRef, TurnSummary),
    /// A child turn began that is to have a thread.
    ChildBegan(Box<ChildThread>),
    /// Shown as it is, for when the ledger itself failed and nothing else can be promised.
    Say {
        channel: ChannelId,
        /// The message it is about.
        reply_to: Option<MessageId>,
        text: String,
    },
    /// Which servers are served may have changed.
    ServersChanged,
    /// How busy the daemon is, for its presence.
    Presence {
        tasks: usize,
        /// Agents with a running turn.
        agents: usize,
    },
    /// The operator must know: by log and direct message, once per cause.
    Operator {
        /// Same cause, told once.
        cause: String,
        /// What happened and the way out.
        text: String,
    },
}

/// A child turn that people may watch, and write to, in a thread of its own.
#[derive(Debug)]
pub struct ChildThread {
    pub turn: TurnId,
    pub conversation: ConversationId,
    /// The channel that the thread is to be below.
    pub below: ChannelId,
    /// The thread's name.
    pub name: String,
    /// What is to be said there, until it ends.
    pub said: mpsc::UnboundedReceiver<Vec<NewPart>>,
}

/// A running turn as it changes. Only the latest state is there to be read, so a slow reader costs nothing.
#[derive(Clone, Debug)]
pub struct Feed {
    pub progress: watch::Receiver<Progress>,
    /// What the model has said so far in this step.
    pub speech: watch::Receiver<Speech>,
}

/// What the model has said so far in one step, growing. With the next step it begins again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Speech {
    /// Counts the steps that said something, or could have.
    pub step: u32,
    /// The words.
    pub text: String,
}

/// Which turn, and where people see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnRef {
    pub turn: TurnId,
    /// The turn that answers people: its own id, but in a child turn.
    pub run: TurnId,
    pub agent: AgentId,
    pub agent_name: String,
    /// The channel or thread it is shown in.
    pub channel: ChannelId,
    /// The message it answers.
    pub reply_to: Option<MessageId>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Step, counted from 1.
    pub step: u32,
    /// What goes on now: `Thinking`, `Running bash`, `Waiting for approval: bash`, `Rate limited, waiting 12 s`, ….
    pub doing: String,
    /// A person is asked, and the question's own message shows the state of the turn.
    pub is_asking: bool,
    pub started: Instant,
    /// Tokens so far.
    pub usage: Usage,
    /// Money so far.
    pub cost: Cost,
    /// Latest commands and calls, newest last, at most five.
    pub recent: Vec<String>,
    /// Messages taken into the running turn: each gets a visible sign.
    pub steered: Vec<MessageId>,
    /// Messages that wait to be taken in until the step is over.
    pub waiting: usize,
    /// The child turns that are not over, each below its parent.
    pub children: Vec<ChildProgress>,
}

/// A child turn as it is seen.
#[derive(Clone, Debug, PartialEq)]
pub struct ChildProgress {
    pub turn: TurnId,
    pub role: String,
    /// Empty where people are not told.
    pub title: String,
    /// Levels below the root: 1 and on.
    pub depth: usize,
    pub step: u32,
    pub doing: String,
    /// What its model said beside the calls that run.
    pub said: String,
    pub started: Instant,
    pub cost: Cost,
}

impl Progress {
    /// A turn that has just begun.
    pub fn begin() -> Self {
        Self {
            step: 0,
            doing: "Starting".to_owned(),
            is_asking: false,
            started: Instant::now(),
            usage: Usage::default(),
            cost: Cost::Usd(0.0),
            recent: Vec::new(),
            steered: Vec::new(),
            waiting: 0,
            children: Vec::new(),
        }
    }
}

/// What a finished turn came to.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnSummary {
    /// One of the exit reasons of `docs/models.md`.
    pub exit: EndReason,
    /// What people were given.
    pub said: Said,
}

/// What people are given at the end of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// What the model answered, whatever brought it to that.
    Answer,
    /// A report on why there is no answer.
    Report,
}

/// Tool calls of one step that people must decide, asked about in one message.
#[derive(Debug)]
pub struct Question {
    pub turn: TurnRef,
    /// The sub-agent that asks.
    pub child: Option<AskingChild>,
    /// What the model said before the calls; empty where it said nothing.
    pub why: String,
    /// The calls, at least one.
    pub calls: Vec<AskedCall>,
    /// Whose messages are in the turn; for a turn that no person started, the agent's owner.
    pub requesters: Vec<UserId>,
    /// When it is denied when nobody answers.
    pub expires_at: DateTime<Utc>,
}

impl Question {
    /// Bytes of its calls.
    pub fn size(&self) -> usize {
        let size = |call: &AskedCall| call.action.len() + call.arguments.len();
        self.calls.iter().map(size).sum()
    }
}

/// A sub-agent whose calls people decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskingChild {
    /// The roles down to it, the agent's name first: `lab ▸ reviewer`.
    pub path: String,
    /// What it is about; empty where people are not told.
    pub title: String,
    /// The agent in whose workspace it works, where that is another one.
    pub elsewhere: Option<AgentName>,
}

impl Question {
    /// Its id: that of its first call's approval.
    pub fn id(&self) -> i64 {
        self.calls.first().map_or(0, |call| call.approval)
    }
}

/// A tool call that people must decide.
#[derive(Debug)]
pub struct AskedCall {
    /// Id of the approval row; buttons carry it.
    pub approval: i64,
    /// The call in question.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// The action string that was judged.
    pub action: String,
    /// Why a person is asked, in words.
    pub reason: String,
    /// The arguments that will run, pretty-printed JSON, in full.
    pub arguments: String,
    /// How its command is confined, in words such as `in a sandbox`; none where it runs no command.
    pub sandbox: Option<String>,
    /// Whether an entry of `always_allow` would spare the question the next time: only the agent's own profile asks.
    pub may_be_kept: bool,
    /// Where the answer goes, once. Dropped unanswered means no.
    pub answer: Option<oneshot::Sender<Answer>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub choice: Choice,
    pub by: UserId,
    /// Why it is denied, in their words.
    pub reason: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuestionEnd {
    /// Somebody decided, and so it is done.
    Decided {
        /// What was pressed.
        choice: Choice,
        /// Who pressed.
        by: UserId,
        /// Why it was denied, in their words.
        reason: Option<String>,
    },
    /// Somebody allowed it, but what would have run was not what they had been shown any more.
    Changed { by: UserId },
    /// Nobody decided in time.
    Expired,
    /// The turn was stopped before anybody decided.
    Cancelled(Stopper),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Run it this once.
    Allow,
    Deny,
    /// Run it, and the same action to the letter from now on.
    AlwaysAllow,
}
