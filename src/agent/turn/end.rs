//! How a turn ends: with exactly one outcome. Outcome, cost and reply go into the ledger together (D8), then people see
//! them.
//!
//! How a turn ends whose task panicked, and how a sub-agent reports, is in `run`.

pub(in crate::agent) mod heading;
pub(in crate::agent) mod last_line;
mod reason;
mod remarks;
pub(in crate::agent) mod reply;

use self::reason::FailureReport;
use self::reply::{Footer, Summary};
use super::host::Host;
use super::{Turn, policy};
use crate::agent::event::{Event, Said, TurnSummary};
use crate::agent::models::budget_days;
use crate::agent::stop::Stopper;
use crate::domain::{Assistant, Item};
use crate::store::{FinishedTurn, FirstPart, PartKind, StoreError};

pub(in crate::agent) use self::reason::CUT_ANSWER;
pub use self::reason::EndReason;

/// What the model is told where the daemon stopped in the middle of a turn: the next turn continues.
pub(in crate::agent) const CUT_BY_STOP: &str =
    "The daemon was stopped here and started again; the turn above was interrupted.";

/// What the model is told where its server was not served for a while.
const CUT_BY_END_OF_SERVICE: &str =
    "The turn above was interrupted here: this server was not served for a while.";

/// How the work of a turn ended.
pub(in crate::agent) enum Outcome {
    Answer {
        answer: Assistant,
        exit: EndReason,
        /// A line under it, where it is not complete.
        remark: Option<String>,
        citations: Vec<(String, String)>,
    },
    /// An answer without everything that its role owes.
    Lacks {
        answer: String,
        /// Names of what lacks.
        missing: Vec<String>,
        exit: EndReason,
        /// The last error besides, for people.
        error: String,
    },
    None {
        exit: EndReason,
        /// The last error, for people.
        error: String,
    },
    /// There is an answer, but people do not get it.
    Withheld {
        exit: EndReason,
        /// What they are told instead.
        told: String,
    },
}

/// What people are told at the end of a turn.
struct Told {
    /// The answer that the next turn reads.
    answer: Option<Assistant>,
    kind: PartKind,
    words: String,
}

/// Ends the turn with its outcome.
pub(in crate::agent) async fn finish(
    turn: &mut Turn,
    host: &mut dyn Host,
    outcome: Outcome,
) -> Result<(), StoreError> {
    turn.accounting.count_beside();
    let exit = outcome.exit();
    if exit == EndReason::Interrupted {
        let note = match turn.context.stop.by() {
            Stopper::Machine(_) => CUT_BY_END_OF_SERVICE,
            Stopper::Person(_) | Stopper::Destroyer(_) | Stopper::Shutdown => CUT_BY_STOP,
        };
        host.close_calls(turn).await?;
        turn.add_note(note).await?;
    }
    let said = outcome.said();
    let Told {
        answer,
        kind,
        words,
    } = told(turn, outcome);
    let ended = FinishedTurn {
        answer: answer.clone(),
        exit,
        steps: turn.accounting.tally.steps,
        usage: turn.accounting.tally.usage,
        cost: turn.accounting.tally.cost,
        parts: reply::parts(
            &words,
            &footer(turn, exit, said),
            kind,
            turn.context.reference.reply_to,
        ),
        first: FirstPart::Sends,
        attached: turn.accounting.hand_over(),
        report: host.report().cloned(),
    };
    let report = ended.report.clone();
    let queued = host.close(turn, ended, said).await?;
    turn.accounting.stored();
    if let Some(answer) = answer {
        turn.transcript.push(Item::Assistant(answer));
    }
    last_line::log(turn, exit, said == Said::Answer, report.as_ref());
    let summary = TurnSummary { exit, said };
    turn.shows_parts(queued);
    turn.context
        .deps
        .emit(Event::TurnEnded(turn.context.reference.clone(), summary));
    Ok(())
}

/// What people are told about `outcome`, without secrets.
fn told(turn: &Turn, outcome: Outcome) -> Told {
    let (answer, kind, words) = match outcome {
        Outcome::Answer {
            answer,
            exit,
            remark,
            citations,
        } => {
            let about_model = remarks::about_model(turn);
            let remarks: Vec<&str> = remark
                .iter()
                .chain(&about_model)
                .map(String::as_str)
                .collect();
            let reply = reply::answer(&answer.text, exit, &remarks, &citations);
            // A refusal is shown but not kept: the next question starts without it.
            let kept = (exit != EndReason::Refused).then_some(answer);
            (kept, PartKind::Reply, reply)
        }
        Outcome::Lacks {
            answer,
            missing,
            error,
            ..
        } => {
            let lines = reply::lacking(&missing, &error, &answer);
            let run = turn.context.id().short();
            (None, PartKind::Failure, format!("{lines}\n-# run {run}"))
        }
        Outcome::None { exit, error } => {
            let report = FailureReport {
                exit,
                error: &error,
                steps: turn.accounting.tally.steps,
                usage: turn.whole().usage,
                cost: turn.whole().cost,
                elapsed: turn.clock.elapsed(),
                by: turn.context.stop.by(),
                children: turn.below.lock().aborted,
                run: turn.context.id(),
            };
            (None, PartKind::Failure, report.render())
        }
        Outcome::Withheld { told, .. } => {
            let run = turn.context.id().short();
            (None, PartKind::Failure, format!("{told}\n-# run {run}"))
        }
    };
    let redactor = &turn.context.deps.services.redactor;
    Told {
        answer,
        kind,
        words: redactor.redact(&words).into_owned(),
    }
}

/// The footer under the turn's outcome.
fn footer(turn: &Turn, exit: EndReason, said: Said) -> Footer {
    let people = turn.context.run.people();
    let author = people.first().copied().or(turn.context.asker);
    let effective = turn
        .context
        .deps
        .effective(&turn.context.agent, &turn.setup.config);
    let is_long = effective
        .notify_after
        .is_some_and(|least| turn.clock.worked() >= least);
    let line = match said {
        Said::Answer => reply::summary(Summary {
            exit,
            branch: turn.context.branch,
            tally: turn.whole(),
            below: *turn.below.lock(),
            run: turn.context.id(),
            elapsed: turn.clock.elapsed(),
        }),
        // It says all of this itself.
        Said::Report => None,
    };
    Footer {
        mention: author.filter(|_| is_long),
        line,
        button: reply::button(exit),
        raises: match (&turn.used_up, exit) {
            (Some(budget), EndReason::Budget) => budget_days::buttons(budget),
            _ => Vec::new(),
        },
    }
}

impl Outcome {
    /// The same as the outcome of the turn that people see: the words alone, with the role that gave them, and a line that
    /// says so.
    pub(in crate::agent) fn given_by(self, role: &str, line: Option<String>) -> Self {
        match self {
            Self::Answer {
                answer,
                exit,
                remark,
                citations,
            } => Self::Answer {
                answer: Assistant {
                    text: answer.text,
                    by: Some(role.to_owned()),
                    ..Assistant::default()
                },
                exit,
                remark: policy::joined([remark, line]),
                citations,
            },
            without @ (Self::Lacks { .. } | Self::None { .. } | Self::Withheld { .. }) => without,
        }
    }

    pub(in crate::agent) fn exit(&self) -> EndReason {
        match self {
            Self::Answer { exit, .. }
            | Self::Lacks { exit, .. }
            | Self::None { exit, .. }
            | Self::Withheld { exit, .. } => *exit,
        }
    }

    const fn said(&self) -> Said {
        match self {
            Self::Answer { .. } | Self::Lacks { .. } => Said::Answer,
            Self::None { .. } | Self::Withheld { .. } => Said::Report,
        }
    }
}
