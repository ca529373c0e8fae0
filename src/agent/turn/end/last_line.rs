//! The last line that the log has of a turn, under event names that other agent programs use too.

use std::time::Duration;

use serde_json::Value;
use tracing::info;

use crate::agent::deps::identity::Identity;
use crate::agent::turn::Turn;
use crate::agent::turn::context::TurnContext;
use crate::domain::{AgentId, AttemptOutcome, ChannelId, GuildId, TurnId};
use crate::store::{EndFacts, EndReason, Lacking, TurnRow, exit_code};

/// A turn that ended, as its last line tells it.
#[derive(Clone, Copy, Debug)]
pub struct LastLine<'a> {
    pub agent: AgentId,
    /// The agent's name, then those of the roles.
    pub path: &'a str,
    pub turn: TurnId,
    pub parent: Option<TurnId>,
    /// The first turn in the chain that led to it.
    pub origin: TurnId,
    pub guild: GuildId,
    pub channel: ChannelId,
    pub exit: EndReason,
    pub facts: EndFacts,
    pub steps: u32,
    pub millis: u64,
}

impl LastLine<'_> {
    pub fn log(&self) {
        let Self {
            path, exit, facts, ..
        } = *self;
        let is_success = facts.has_answer || exit == EndReason::Refused;
        let status = match (is_success, exit) {
            (true, EndReason::Answered | EndReason::Refused) => "success",
            (true, _) => "partial",
            (false, _) => "failure",
        };
        let ended = exit_code(exit, facts);
        let parent = self.parent.map(|parent| parent.to_string());
        info!(
            event = "agent:fin",
            exit = exit.as_str(),
            exit_code = ended.code,
            exit_reason = ended.reason.unwrap_or_default(),
            ai.agent.id = %self.agent,
            ai.agent.call_path = path,
            ai.session.txn_id = %self.turn,
            ai.session.parent_txn_id = parent.unwrap_or_default(),
            ai.session.origin_txn_id = %self.origin,
            ai.session.headend_id = %format_args!("discord:{}/{}", self.guild, self.channel),
            ai.agent.success = is_success,
            ai.agent.turn_count = self.steps,
            ai.agent.final_report.status = status,
            agent.id = %self.agent,
            turn.id = %self.turn,
            turn.duration_ms = self.millis,
            "{path} finished its turn: {}",
            exit.as_str()
        );
    }
}

/// A turn that ended.
struct Ended<'a> {
    context: &'a TurnContext,
    exit: EndReason,
    has_answer: bool,
    steps: u32,
    /// The outcome of its last request to a model.
    last: Option<AttemptOutcome>,
    elapsed: Duration,
    /// Where the report that its role owes came from, and what it lacks.
    source: &'a str,
    lacking: Option<Lacking>,
}

impl Ended<'_> {
    /// Logs its outcome, and its last line.
    fn log(&self) {
        let (context, exit) = (self.context, self.exit);
        let path = &context.path;
        match (self.has_answer, exit) {
            (true, EndReason::Answered) => {
                info!(event = "agent:final-report-accepted", turn.id = %context.id(), source = self.source, "the answer of {path} is accepted");
            }
            (true, _) => {
                info!(event = "agent:fallback-report", turn.id = %context.id(), exit = exit.as_str(), "the last words of {path} are its answer");
            }
            (false, _) => {
                info!(event = "agent:failure-report", turn.id = %context.id(), exit = exit.as_str(), "{path} has no answer");
            }
        }
        let line = LastLine {
            agent: context.agent.id,
            path,
            turn: context.id(),
            parent: context.parent,
            origin: context.run.origin,
            guild: context.agent.guild,
            channel: context.reference.channel,
            exit,
            facts: EndFacts {
                has_answer: self.has_answer,
                last: self.last,
                broke_off: false,
                lacking: self.lacking,
            },
            steps: self.steps,
            millis: u64::try_from(self.elapsed.as_millis()).unwrap_or(u64::MAX),
        };
        line.log();
    }
}

/// The last line of a turn whose task panicked, by what the ledger has of it.
pub(in crate::agent) fn broke_off(agent: &Identity, turn: &TurnRow) {
    let exit = turn.exit.unwrap_or(EndReason::Failed);
    let line = LastLine {
        agent: agent.id,
        path: &turn.begun.path,
        turn: turn.begun.id,
        parent: turn.begun.parent,
        origin: turn.origin,
        guild: agent.guild,
        channel: turn.begun.channel,
        exit,
        facts: EndFacts {
            has_answer: exit == EndReason::Answered,
            broke_off: turn.exit.is_none() || turn.broke_off(),
            ..EndFacts::default()
        },
        steps: turn.steps,
        millis: 0,
    };
    line.log();
}

/// Logs the end of it. `report` is what its row keeps of the report that its role owes.
pub(in crate::agent) fn log(
    turn: &Turn,
    exit: EndReason,
    has_answer: bool,
    report: Option<&Value>,
) {
    let owed = |key: &str| report.and_then(|row| row[key].as_str());
    let ended = Ended {
        source: owed("source").unwrap_or("text"),
        lacking: owed("reason").and_then(|word| word.parse().ok()),
        context: &turn.context,
        exit,
        has_answer,
        steps: turn.accounting.tally.steps,
        last: turn.accounting.last,
        elapsed: turn.clock.elapsed(),
    };
    ended.log();
}
