//! The state of a daemon at a moment: what runs, what waits, what was spent, what comes next, and what failed.
//!
//! Its JSON is a contract (`chorus schema --status`, `docs/operations/status.schema.json`): keys may be added, but none
//! changes or is removed without a new [`Overview::VERSION`]. It contains no text of any conversation.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;

/// What runs, waits, was spent, comes next and failed. Discord's ids are texts.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Overview {
    /// Version of this form: 1.
    pub version: u32,
    pub daemon: DaemonState,
    /// Turns at work, the oldest first. Those of sub-agents are within theirs.
    pub running: Vec<RunningRun>,
    /// What waits for people or for Discord, the oldest first within its kind.
    pub waiting: Vec<WaitingThing>,
    /// What was used of each budget, the most used first.
    pub budgets: Vec<BudgetState>,
    /// Schedules, the next first.
    pub schedules: Vec<NextSchedule>,
    /// What failed in the last 24 hours, the latest first.
    pub failures: Vec<Failed>,
}

impl Overview {
    /// The version of its JSON.
    pub const VERSION: u32 = 1;
}

/// The daemon of a home.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct DaemonState {
    pub state: RunState,
    /// Its process; null where none runs, or its number is not known.
    pub pid: Option<u32>,
    /// The version of the program that ran last; null before its first start.
    pub version: Option<String>,
    /// When that one was started.
    pub started_at: Option<DateTime<Utc>>,
}

/// Whether a daemon runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    Running,
    Stopped,
}

/// A turn at work, with all below it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct RunningRun {
    pub run: String,
    /// The agent's name.
    pub agent: String,
    pub channel_id: String,
    /// What began it: `message`, `peer`, `hook`, `resume`, `schedule` or `webhook`.
    pub cause: String,
    /// Whether no person began it.
    pub unattended: bool,
    /// Counted from 1.
    pub step: u32,
    pub since: DateTime<Utc>,
    /// `approval`, `question`, `model`, or the name of a tool.
    pub waits_for: String,
}

/// Something that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct WaitingThing {
    pub kind: WaitingKind,
    /// The agent's name; null where the channel is of none.
    pub agent: Option<String>,
    pub channel_id: String,
    /// How many of them wait in this channel.
    pub count: u64,
    /// Since when the oldest of them waits.
    pub since: DateTime<Utc>,
    /// When it ends by itself.
    pub expires_at: Option<DateTime<Utc>>,
}

/// What waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitingKind {
    /// An action that a person has to allow.
    Approval,
    /// A question of a model to people.
    Question,
    /// A turn that was interrupted: a person decides how it goes on.
    Card,
    /// Messages that are in no turn yet.
    Message,
    /// Messages that are not posted yet.
    Outbox,
}

impl WaitingKind {
    /// Returns it in words for people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Approval => "approval",
            Self::Question => "question",
            Self::Card => "interrupted turn",
            Self::Message => "messages to answer",
            Self::Outbox => "messages to post",
        }
    }
}

/// What was used of one budget.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct BudgetState {
    /// `agent_day`, `unattended_day`, `user_day` or `month`.
    pub budget: String,
    /// The agent's name; null where the budget is not of an agent.
    pub agent: Option<String>,
    pub guild_id: String,
    /// The person, where the budget is one of persons.
    pub user_id: Option<String>,
    /// US dollars, as far as prices are known.
    pub used_usd: f64,
    /// US dollars, with what people added; null where there is no limit.
    pub limit_usd: Option<f64>,
    /// What people added to it today, in US dollars.
    pub extra_usd: f64,
}

/// A schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct NextSchedule {
    pub name: String,
    /// The agent's name.
    pub agent: String,
    pub next_at: DateTime<Utc>,
}

/// Something that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Failed {
    pub kind: FailedKind,
    /// The agent's name; null where the channel is of none.
    pub agent: Option<String>,
    pub channel_id: String,
    pub at: DateTime<Utc>,
    /// Of a turn why it ended, such as `time_limit`; of a message to post `failed`, or `unknown` where it is not known
    /// whether it was posted.
    pub reason: String,
    /// The run, of a turn.
    pub run: Option<String>,
}

/// What failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailedKind {
    Turn,
    Schedule,
    /// A message to post.
    Delivery,
}
