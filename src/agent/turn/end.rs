//! How a turn ends: with exactly one outcome. Outcome, cost and reply go into the ledger together (D8), then people see
//! them.
//!
//! How a turn ends whose task panicked, and how a sub-agent reports, is in `run`.

pub(in crate::agent) mod cause;
pub(in crate::agent) mod heading;
pub(in crate::agent) mod last_line;
pub(in crate::agent) mod planned;
mod reason;
mod remarks;
pub(in crate::agent) mod reply;

use std::time::Duration;

use chrono::{DateTime, Utc};

use self::cause::ModelFailure;
use self::reason::{FailureReport, GoesOn};
use self::reply::{Footer, Summary};
use super::host::Host;
use super::{Turn, policy};
use crate::agent::event::{Event, Said, TurnSummary};
use crate::agent::models::budget_days;
use crate::agent::stop::Stopper;
use crate::clock;
use crate::domain::{Assistant, Item};
use crate::store::{FinishedTurn, FirstPart, PartKind, StoreError, TurnCause};

pub(in crate::agent) use self::reason::CUT_ANSWER;
pub use self::reason::EndReason;

/// What the model is told where the daemon stopped in the middle of a turn: the next turn continues.
pub(in crate::agent) const CUT_BY_STOP: &str =
    "The daemon was stopped here and started again; the turn above was interrupted.";

/// What the model is told where a crash interrupted its turn.
pub const CUT_BY_CRASH: &str =
    "The daemon stopped here and was started again; the turn above was interrupted.";

/// Whether a note says that the turn above it was interrupted by a stop or a crash.
pub(in crate::agent) fn is_cut(note: &str) -> bool {
    [CUT_BY_STOP, CUT_BY_CRASH].contains(&note)
}

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
    let may_go_on = exit == EndReason::Interrupted && turn.may_go_on();
    let said = outcome.said();
    let is_quiet = planned::is_quiet(turn, &outcome);
    let run_end = if may_go_on {
        None
    } else {
        planned::end_of_run(turn, exit, is_quiet, outcome.error())
    };
    let Told {
        answer,
        kind,
        words,
    } = told(turn, outcome);
    let mut parts = reply::parts(
        &words,
        &footer(turn, exit, said),
        kind,
        turn.context.reference.reply_to,
    );
    if is_quiet {
        parts.clear();
    }
    if may_go_on {
        for part in &mut parts {
            part.body.is_silent = true;
            part.body.is_about = true;
            part.body.button = None;
        }
    }
    let ended = FinishedTurn {
        answer: answer.clone(),
        exit,
        steps: turn.accounting.tally.steps,
        usage: turn.accounting.tally.usage,
        cost: turn.accounting.tally.cost,
        parts,
        may_go_on,
        first: FirstPart::Sends,
        attached: turn.accounting.hand_over(),
        report: host.report().cloned(),
        planned: run_end,
    };
    let report = ended.report.clone();
    let run_state = ended.planned.as_ref().map(|end| end.state);
    let queued = host.close(turn, ended, said).await?;
    if let (Some(state), Some(run)) = (run_state, &turn.context.run.planned) {
        turn.context.deps.count_end(run, state);
    }
    turn.accounting.stored();
    turn.said_nothing = is_quiet;
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
            let late = planned::late_line(turn).unwrap_or_default();
            let reply = format!("{late}{reply}");
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
            if let Some(line) = planned::failure(turn, exit, &error) {
                return Told {
                    answer: None,
                    kind: PartKind::Failure,
                    words: turn
                        .context
                        .deps
                        .services
                        .redactor
                        .redact(&line)
                        .into_owned(),
                };
            }
            let report = FailureReport {
                exit,
                error: &error,
                steps: turn.accounting.tally.steps,
                usage: turn.whole().usage,
                cost: turn.whole().cost,
                elapsed: turn.clock.elapsed(),
                by: turn.context.stop.by(),
                goes_on: turn.may_go_on().then(|| turn.goes_on()),
                children: turn.below.lock().aborted,
                run: turn.context.id(),
                next: cause(turn, exit).and_then(ModelFailure::next_step),
                doing: turn.live.progress.borrow().doing.clone(),
                receipt: turn.context.run.receipt.lock().words(),
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

/// Why no model answered, where that ended the turn.
fn cause(turn: &Turn, exit: EndReason) -> Option<&ModelFailure> {
    turn.accounting
        .failure
        .as_ref()
        .filter(|_| exit == EndReason::Failed)
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
        .is_some_and(|least| turn.took(clock::now()) >= least);
    let receipt = turn.context.run.receipt.lock().words();
    let line = match said {
        Said::Answer => reply::summary(Summary {
            exit,
            branch: turn.context.branch,
            tally: turn.whole(),
            below: *turn.below.lock(),
            run: turn.context.id(),
            elapsed: turn.clock.elapsed(),
            receipt: receipt.clone(),
        }),
        // It says all of this itself.
        Said::Report => None,
    };
    let (button, mut further) = cause(turn, exit)
        .filter(|_| said == Said::Report)
        .map_or_else(|| (reply::button(exit), Vec::new()), ModelFailure::buttons);
    // Nobody can have planned work go on: the next one comes.
    if turn.context.run.planned.is_some() {
        further.clear();
    }
    let button = button.filter(|_| turn.context.run.planned.is_none());
    if let (Some(budget), EndReason::Budget) = (&turn.used_up, exit) {
        further.extend(budget_days::buttons(budget));
    }
    further.extend(receipt.map(|_| reply::details(turn.context.run.root)));
    Footer {
        mention: author.filter(|_| is_long),
        line,
        button,
        further,
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

    /// The last error, for people; empty where there is none.
    fn error(&self) -> &str {
        match self {
            Self::Lacks { error, .. } | Self::None { error, .. } => error,
            Self::Answer { .. } | Self::Withheld { .. } => "",
        }
    }

    const fn said(&self) -> Said {
        match self {
            Self::Answer { .. } | Self::Lacks { .. } => Said::Answer,
            Self::None { .. } | Self::Withheld { .. } => Said::Report,
        }
    }
}

impl Turn {
    /// Whether the turn, which the daemon's stop ends, is looked at again after the next start.
    fn may_go_on(&self) -> bool {
        let is_root = self.context.child.is_none();
        let is_stop = matches!(self.context.stop.by(), Stopper::Shutdown);
        is_root && is_stop && self.context.run.cause != TurnCause::Peer
    }

    /// How it goes on after the next start.
    fn goes_on(&self) -> GoesOn {
        let config = self.context.deps.config.load();
        if self.context.run.was_cut() || self.context.before.began_at.is_some() {
            GoesOn::WhenAsked
        } else if config.resume.max_age.get().is_zero() {
            GoesOn::ByHand
        } else {
            GoesOn::ByItself
        }
    }

    /// How long it took; with the turns that it continues, since the first of these began.
    fn took(&self, now: DateTime<Utc>) -> Duration {
        let since = self.context.before.began_at;
        since.map_or_else(
            || self.clock.worked(),
            |began_at| (now - began_at).to_std().unwrap_or_default(),
        )
    }
}
