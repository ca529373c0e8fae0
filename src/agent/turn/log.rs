//! What the log says about a turn: its beginning, what decided its end, and its end. Other agent programs use the same
//! event names.
//!
//! None of it was written by people or models.

use std::time::Duration;

use tracing::{info, warn};

use super::Turn;
use super::context::TurnContext;
use super::end_reason::EndReason;
use super::last_line::LastLine;
use crate::agent::deps::identity::Identity;
use crate::domain::{AttemptOutcome, Cost, TurnId, Usage};
use crate::llm::{DEMO, Target};
use crate::store::{EndFacts, Lacking, TurnRow};

/// A turn that ended.
pub(super) struct Ended<'a> {
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
    pub(super) fn log(&self) {
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
pub(super) fn broke_off(agent: &Identity, turn: &TurnRow) {
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

impl TurnContext {
    /// The first line of a turn.
    pub(super) fn log_init(&self) {
        info!(event = "agent:init", agent.id = %self.agent.id, turn.id = %self.id(), run.id = %self.run.root, "{} began a turn", self.path);
    }
}

impl Turn {
    /// The end of it, for the log.
    pub(super) fn ended(&self, exit: EndReason, has_answer: bool) -> Ended<'_> {
        let owed = |key: &str| self.owed.row.as_ref().and_then(|row| row[key].as_str());
        Ended {
            source: owed("source").unwrap_or("text"),
            lacking: owed("reason").and_then(|word| word.parse().ok()),
            context: &self.context,
            exit,
            has_answer,
            steps: self.accounting.tally.steps,
            last: self.accounting.last,
            elapsed: self.clock.elapsed(),
        }
    }

    /// A child turn begins for it.
    pub(super) fn log_child(&self, child: TurnId, path: &str) {
        info!(event = "agent:child", turn.id = %child, turn.parent_id = %self.context.id(), "{} calls {path}", self.context.path);
    }

    /// The next step is its last.
    pub(super) fn log_final_turn(&self, why: EndReason) {
        info!(event = "agent:final-turn", reason = why.as_str(), turn.id = %self.context.id(), "{} has one last step: {}", self.context.path, why.as_str());
    }

    /// Logs how full the window is when a summary begins.
    pub(super) fn log_context(&self, used: u64, room: u64) {
        info!(event = "agent:context", turn.id = %self.context.id(), context.tokens = used, context.room = room, "{} sums up what was said", self.context.path);
    }

    /// Logs, once for each model, that tokens of unknown price were used: as a warning where somebody may send a bill,
    /// which a server of this network does not. The demo model is never logged.
    pub(super) fn log_pricing(&self, target: &Target, usage: Usage, cost: Cost) {
        let is_unpriced = cost == Cost::Unknown && usage != Usage::default();
        let deps = &self.context.deps;
        if !is_unpriced
            || target.provider == DEMO
            || !deps.unpriced.lock().insert(target.to_string())
        {
            return;
        }
        let said = format!("the price of {target} is not known: what it costs is not counted");
        if deps.models.known().providers().is_local(&target.provider) {
            info!(event = "agent:pricing", model = %target, "{said}");
        } else {
            warn!(event = "agent:pricing", model = %target, "{said}");
        }
    }
}
