//! How the run of a schedule, or deliveries, end with their turn (D8), and what people are told of those that fail.

use super::{EndReason, Outcome};
use crate::agent::deps::AgentDeps;
use crate::agent::turn::Turn;
use crate::agent::turn::trigger::{PlannedKind, PlannedRun};
use crate::domain::{ChannelId, UserId};
use crate::store::{DeliveryState, NewPart, Pausing, Repeats, RunEnd, RunPost, SlotState, WorkKey};
use crate::text::{self, escape};

/// The answer of a turn that has nothing to say.
pub const NOTHING: &str = "NOTHING";

/// Failures in a row after which a schedule or webhook is paused.
const MOST_FAILURES: u32 = 3;

/// Characters of an error in one line.
const ERROR: usize = 300;

/// Says whether people get nothing of an outcome: the answer of planned work is exactly the word for it.
pub(super) fn is_quiet(turn: &Turn, outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Answer { answer, exit, .. } => {
            turn.context.run.planned.is_some()
                && *exit == EndReason::Answered
                && answer.text.trim() == NOTHING
        }
        Outcome::Lacks { .. } | Outcome::None { .. } | Outcome::Withheld { .. } => false,
    }
}

/// Returns the line before a late answer, if it is one.
pub(super) fn late_line(turn: &Turn) -> Option<String> {
    let run = turn.context.run.planned.as_ref()?;
    match &run.key {
        WorkKey::Slot(key) if run.is_late => Some(due_line(key.slot.timestamp())),
        WorkKey::Slot(_) | WorkKey::Deliveries(_) => None,
    }
}

/// Returns the line that says when something was due that comes late.
pub fn due_line(at: i64) -> String {
    format!("-# due <t:{at}:R>, I was away\n")
}

/// Returns the end of the run that a turn is; `None` where it is none.
pub(super) fn end_of_run(
    turn: &Turn,
    exit: EndReason,
    is_quiet: bool,
    error: &str,
) -> Option<RunEnd> {
    let run = turn.context.run.planned.as_ref()?;
    let (state, reason) = match exit {
        EndReason::Answered if is_quiet => (SlotState::Quiet, None),
        EndReason::Answered => (SlotState::Done, None),
        EndReason::Stopped | EndReason::Aborted => (SlotState::Done, Some(exit.words())),
        EndReason::Refused
        | EndReason::Interrupted
        | EndReason::StepLimit
        | EndReason::TimeLimit
        | EndReason::Budget
        | EndReason::Loop
        | EndReason::Errors
        | EndReason::BadCalls
        | EndReason::Window
        | EndReason::Failed
        | EndReason::Report => (SlotState::Failed, Some(why(exit, error))),
    };
    let pausing = reason.as_deref().filter(|_| state == SlotState::Failed);
    let channel = turn.context.reference.channel;
    Some(RunEnd {
        key: run.key.clone(),
        state,
        posts: Vec::new(),
        repeats: Repeats::Always,
        pausing: pausing
            .map(|why| pausing_after(why, run.kind, (&run.name, run.owner), Some(channel))),
        reason,
    })
}

/// Returns the one line about a turn of a schedule that gave no answer; `None` where it is of none.
pub(super) fn failure(turn: &Turn, exit: EndReason, error: &str) -> Option<String> {
    let run = turn.context.run.planned.as_ref()?;
    if matches!(
        exit,
        EndReason::Stopped | EndReason::Aborted | EndReason::Interrupted
    ) {
        return None;
    }
    let why = why(exit, error);
    let id = turn.context.id().short();
    Some(failure_line(run.kind, &run.name, &why, &id))
}

/// Returns the line about a run that failed. `run` is its id.
pub fn failure_line(kind: PlannedKind, name: &str, why: &str, run: &str) -> String {
    format!(
        "{} {} failed: {}\n-# run {run}",
        kind.noun(),
        escape::code(name),
        escape::sentence(why)
    )
}

/// Returns how a schedule or webhook is paused whose runs keep failing: its owner is mentioned once, where it posts.
pub fn pausing_after(
    why: &str,
    kind: PlannedKind,
    (name, owner): (&str, UserId),
    channel: Option<ChannelId>,
) -> Pausing {
    let told = |channel| {
        let mut part = NewPart::notice(format!(
            "<@{owner}> {} {} is paused, because {MOST_FAILURES} runs in a row failed. The last reason: {} Continue it with `{}`.",
            kind.noun(),
            escape::code(name),
            escape::sentence(why),
            kind.resume_command()
        ));
        part.body.mention = Some(owner);
        RunPost { channel, part }
    };
    Pausing {
        after: MOST_FAILURES,
        reason: format!("{MOST_FAILURES} runs in a row failed, the last one: {why}"),
        told: channel.map(told),
    }
}

fn why(exit: EndReason, error: &str) -> String {
    match (exit, error) {
        (EndReason::Failed, "") => "no model answered".to_owned(),
        (EndReason::Refused, _) => "the model declined to answer".to_owned(),
        (exit, "") => exit.words(),
        (_, error) => text::one_line(error, ERROR),
    }
}

impl AgentDeps {
    /// Counts the end of planned work.
    pub(in crate::agent) fn count_end(&self, run: &PlannedRun, state: SlotState) {
        match (&run.key, run.kind) {
            (WorkKey::Deliveries(key), PlannedKind::Webhook(kind)) => {
                let outcome = match state {
                    SlotState::Done => DeliveryState::Done,
                    SlotState::Quiet => DeliveryState::Quiet,
                    _ => DeliveryState::Failed,
                };
                self.deliveries.count(kind, outcome, key.rows.len() as u64);
            }
            _ => self.planned.count(state, 1),
        }
    }
}
