//! A run as a tree: the turn that answers people, the child turns below it, and the actions of each, in order.
//!
//! It is built from the ledger's rows on request. Its JSON is a contract (`chorus schema --run`, `docs/runs.md`): keys
//! may be added, but none changes or is removed without a new [`Run::VERSION`].

use chrono::{DateTime, TimeDelta, Utc};
use schemars::JsonSchema;
use serde::Serialize;

use super::ids::TurnId;
use super::usage::Usage;

/// A run: a turn that answers people, with all child turns below it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Run {
    /// Version of this form: 1.
    pub version: u32,
    /// The turn at its root, which it is named by.
    #[schemars(with = "String")]
    pub run: TurnId,
    /// The first turn of all that led to it: its own root where nothing did.
    #[schemars(with = "String")]
    pub origin: TurnId,
    /// The run that caused it, by a message to another agent, a hook, or a branch; null where people did.
    #[schemars(with = "Option<String>")]
    pub caused_by: Option<TurnId>,
    /// Who asked for it, by the name they had then; null where no person did.
    pub asked_by: Option<String>,
    /// The runs that it caused. They are not in its sums.
    pub caused: Vec<CausedRun>,
    /// What of it could not be read, a sentence each; empty where all of it stands here.
    pub gaps: Vec<String>,
    /// The root.
    pub node: Node,
}

/// A run that another one caused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CausedRun {
    #[schemars(with = "String")]
    pub run: TurnId,
    /// How: `branch` (a branch that an agent opened), `resume` (it continues this run, which was interrupted), or `note` (a message to another agent, a hook, a branch's report).
    pub by: &'static str,
}

/// One turn of a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Node {
    #[schemars(with = "String")]
    pub turn: TurnId,
    /// The turn that began it; of a root the one that caused it, where one did.
    #[schemars(with = "Option<String>")]
    pub parent: Option<TurnId>,
    /// The agent's name, then those of the roles: `lab/reviewer/explore`.
    pub path: String,
    /// `turn` for the root, else `sub_agent`, `advisor`, `route` or `handoff`.
    pub kind: String,
    pub role: Option<String>,
    /// Of the role's charter, lower-case hex.
    pub role_sha256: Option<String>,
    /// What it is about, for people: of the root the beginning of what was asked.
    pub title: Option<String>,
    /// The model that answered last.
    pub model: Option<String>,
    /// Why it ended (`answered`, `step_limit`, …); null while it runs.
    pub exit: Option<String>,
    /// The same in the words of other programs: `EXIT-FINAL-ANSWER`.
    pub exit_code: Option<String>,
    /// More of it, where a report lacks what it owes: `final_report_missing` or `final_meta_missing`.
    pub exit_reason: Option<String>,
    /// What began the run: `message`, `peer`, `hook`, `resume`, `schedule` or `webhook`.
    pub cause: String,
    /// The interrupted turn that it continues.
    #[schemars(with = "Option<String>")]
    pub resumes: Option<TurnId>,
    /// The turn that continues it, after it was interrupted.
    #[schemars(with = "Option<String>")]
    pub resumed_by: Option<TurnId>,
    /// Where its report comes from, for a role that owes one: `tool`, `text` or `fallback`.
    pub source: Option<String>,
    /// Null where whoever looks may not see it.
    pub began_at: Option<DateTime<Utc>>,
    pub ended_at: Option<DateTime<Utc>>,
    /// Requests to models that answered, its own alone.
    pub steps: u32,
    /// Tokens, with all below it.
    pub usage: Usage,
    /// US dollars, with all below it; null where a price is not known.
    pub cost_usd: Option<f64>,
    /// US dollars of its own requests; null where a price is not known.
    pub own_cost_usd: Option<f64>,
    /// Whether it came to an answer; told by `exit_code`, and by the event of its end.
    #[serde(skip)]
    pub has_answered: bool,
    /// What it did, in order; the first is its beginning.
    pub ops: Vec<Op>,
    pub children: Vec<Node>,
}

/// One thing that a turn did.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Op {
    pub at: DateTime<Utc>,
    /// How long it took, in milliseconds.
    pub ms: u64,
    pub kind: OpKind,
    /// The model, the tool, the action that was asked about, or where a report comes from.
    pub name: String,
    /// `ok`, a failure class, `error`, `stopped`, `refused`, `interrupted`, `open`; of a report the turn's exit.
    pub outcome: String,
    pub usage: Usage,
    /// Null where the price is not known.
    pub cost_usd: Option<f64>,
    /// Whether it could run: `allow`, `always_allow`, `deny` or `expired`. Null where there was nothing to decide.
    pub decision: Option<String>,
    /// What a call did: `exit 128 after 0.4 s`, `wrote src/main.rs (+12 −3)`. Null where that is not on record.
    pub effect: Option<String>,
    /// The beginning of what was said, or of a call and its result, without secrets.
    pub preview: Option<String>,
}

/// What a turn can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OpKind {
    /// Its beginning: whom it may ask, its tools, its limits.
    Begin,
    /// A request to a model.
    Model,
    /// A call of a tool.
    Tool,
    /// A question to people.
    Question,
    /// A wait for a place at a provider.
    Queue,
    /// A summary of what was said so far.
    Compaction,
    /// Its last word.
    Report,
}

impl Op {
    /// Returns when it ended, or when it began if it has no valid end.
    pub fn ended_at(&self) -> DateTime<Utc> {
        let ms = i64::try_from(self.ms).ok();
        let length = ms.and_then(TimeDelta::try_milliseconds);
        let end = length.and_then(|length| self.at.checked_add_signed(length));
        end.unwrap_or(self.at)
    }
}

impl OpKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Begin => "begin",
            Self::Model => "model",
            Self::Tool => "tool",
            Self::Question => "question",
            Self::Queue => "queue",
            Self::Compaction => "compaction",
            Self::Report => "report",
        }
    }
}

impl Run {
    pub const VERSION: u32 = 1;

    /// Returns all its turns with their depth below the root, each before those below it.
    pub fn nodes(&self) -> Vec<(usize, &Node)> {
        let mut nodes = Vec::new();
        let mut waiting = vec![(0, &self.node)];
        while let Some((depth, node)) = waiting.pop() {
            nodes.push((depth, node));
            waiting.extend(node.children.iter().rev().map(|child| (depth + 1, child)));
        }
        nodes
    }
}

impl Node {
    /// Keeps only the facts every viewer may see: the agent, the duration and the cost.
    pub fn hide(&mut self) {
        self.role_sha256 = None;
        self.title = None;
        self.model = None;
        self.exit = None;
        self.exit_code = None;
        self.exit_reason = None;
        self.source = None;
        self.began_at = None;
        self.ended_at = None;
        self.steps = 0;
        self.has_answered = false;
        self.ops = Vec::new();
        self.children.iter_mut().for_each(Self::hide);
    }

    /// Removes the arguments and results of these tools.
    pub fn hide_results_of(&mut self, tools: &[&str]) {
        let ops = self.ops.iter_mut();
        ops.filter(|op| op.kind == OpKind::Tool && tools.contains(&op.name.as_str()))
            .for_each(|op| (op.preview, op.effect) = (None, None));
    }

    /// Returns whether only its name and its cost are shown.
    pub const fn is_hidden(&self) -> bool {
        self.began_at.is_none()
    }

    /// Returns its duration, until `now` while it runs. `None` if it is hidden.
    pub fn took(&self, now: DateTime<Utc>) -> Option<TimeDelta> {
        let end = self.ended_at.unwrap_or(now);
        self.began_at
            .map(|began| (end - began).max(TimeDelta::zero()))
    }

    /// Returns the number of its tool calls.
    pub fn calls(&self) -> usize {
        self.of_kind(OpKind::Tool).count()
    }

    /// Returns the milliseconds that it waited for people, each counted once.
    pub fn asked_ms(&self) -> u64 {
        let mut spans: Vec<(i64, i64)> = self
            .of_kind(OpKind::Question)
            .map(|op| (op.at.timestamp_millis(), op.ended_at().timestamp_millis()))
            .collect();
        spans.sort_unstable();
        let (mut sum, mut covered) = (0, i64::MIN);
        for (from, to) in spans {
            sum += (to - from.max(covered)).max(0);
            covered = covered.max(to);
        }
        sum.unsigned_abs()
    }

    fn of_kind(&self, kind: OpKind) -> impl Iterator<Item = &Op> {
        self.ops.iter().filter(move |op| op.kind == kind)
    }
}
