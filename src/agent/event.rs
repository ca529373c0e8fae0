//! What an agent wants the world to see.
//!
//! The agent does not know of Discord: it emits these values, and the owner of the receiver shows them. What must not be
//! lost goes through the ledger's outbox; [`Event::Outbox`] only says that there is something in it.

mod presses;

use std::time::Instant;

use chrono::{DateTime, Utc};
use tokio::sync::{mpsc, watch};

use crate::agent::stop::Stopper;
use crate::domain::{
    AgentId, AgentName, CallId, ChannelId, ConversationId, Cost, GuildId, MessageId, TurnId, Usage,
    UserId,
};
use crate::store::{EndReason, NewPart, Part};

pub use presses::{Arrived, Presses};

/// One thing to show.
#[derive(Debug)]
pub enum Event {
    /// The ledger's outbox holds parts for this channel.
    Outbox(ChannelId),
    /// This part leads its channel's outbox and is marked `sending`: it is to be posted now.
    Reply(Box<Part>),
    /// A channel belongs to an agent from now on; what was written there before is still to be read.
    Bound(GuildId, ChannelId),
    /// Something that was begun for an agent of this server waits for Discord.
    Unsettled(GuildId),
    /// A turn began: typing and a live status are due. The feed has its progress.
    TurnStarted(TurnRef, Feed),
    Question(Box<Question>),
    /// A question ended, and the ledger has that: its message is edited to say how.
    QuestionClosed {
        /// Id of the approval row.
        approval: i64,
        end: QuestionEnd,
    },
    /// A call that people had allowed has ended, and the ledger has its result: its card says how.
    CallEnded {
        /// Id of the approval row.
        approval: i64,
        /// How it ended, in words; `None` where there is nothing to add.
        outcome: Option<String>,
    },
    /// A turn ended; its outcome is in the outbox already. Its live status is to be removed.
    TurnEnded(TurnRef, TurnSummary),
    /// A child turn began that is to have a thread.
    ChildBegan(Box<ChildThread>),
    /// Shown directly, for when the ledger itself failed and nothing else can be promised.
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
        /// What happened, and what to do about it.
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

/// A running turn as it changes. Only the latest state can be read, so a slow reader costs nothing.
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
    /// The root turn of its run; its own id, unless it is a child turn.
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
    /// What it does now: `Thinking`, `Running bash`, `Waiting for approval: bash`, `Rate limited, waiting 12 s`, ….
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
    /// Messages that got that sign before, because they came while people were asked.
    pub signed: Vec<MessageId>,
    /// Messages that wait for the end of the step.
    pub waiting: usize,
    /// The child turns that are not over, each below its parent.
    pub children: Vec<ChildProgress>,
}

/// A child turn as people see it.
#[derive(Clone, Debug, PartialEq)]
pub struct ChildProgress {
    pub turn: TurnId,
    pub role: String,
    /// Empty where the title is not shown.
    pub title: String,
    /// Levels below the root, from 1.
    pub depth: usize,
    pub step: u32,
    pub doing: String,
    /// What its model said beside the calls that run.
    pub said: String,
    pub started: Instant,
    pub cost: Cost,
    /// The agents that work there: the run's own, and the one that works for it.
    pub agents: Vec<AgentId>,
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
            signed: Vec::new(),
            waiting: 0,
            children: Vec::new(),
        }
    }

    /// Notes that a message was taken in, which needs a sign unless it has one.
    pub fn saw(&mut self, message: MessageId) {
        if !self.signed.contains(&message) {
            self.steered.push(message);
        }
    }
}

/// The outcome of a finished turn.
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
    /// What the model answered, however the turn ended.
    Answer,
    /// A report on why there is no answer.
    Report,
}

/// Tool calls of one step that people must decide, in one message.
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
    /// The agents whose work asks: the run's own, and the one that works for it.
    pub agents: Vec<AgentId>,
    /// Presses that may deny it and are not judged yet.
    pub presses: Presses,
    /// When it is denied if nobody has answered.
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
    /// Its title; empty where the title is not shown.
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
    /// The action string of the place where links lead its path, which was judged, too.
    pub reached: Option<String>,
    /// The address of the git remote that it speaks to.
    pub address: Option<String>,
    /// Why a person is asked, in words.
    pub reason: String,
    /// The arguments that will run, pretty-printed JSON, in full.
    pub arguments: String,
    /// What it would come to, as Markdown, where its arguments do not say it.
    pub preview: Option<String>,
    /// How its command is confined, in words such as `in a sandbox`; `None` where it runs no command.
    pub sandbox: Option<String>,
    /// Whether an entry of `always_allow` would spare the question the next time: only the agent's own profile asks.
    pub may_be_kept: bool,
    /// Takes the answer. Until the call is about to start, a denial after it overrules it. Dropping it unanswered denies the
    /// call.
    pub answer: mpsc::Sender<Answer>,
}

/// A person's decision about one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub choice: Choice,
    pub by: UserId,
    /// Why it is denied, in their words.
    pub reason: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuestionEnd {
    /// Somebody decided.
    Decided {
        /// What was pressed.
        choice: Choice,
        /// Who pressed.
        by: UserId,
        /// Why it was denied, in their words.
        reason: Option<String>,
    },
    /// Somebody allowed it, but what would have run had changed since it was shown.
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
    /// Run it, and from now on every call of exactly this action.
    AlwaysAllow,
}
