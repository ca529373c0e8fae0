//! How a turn ends: outcome, cost and reply go into the ledger together (D8), then people see them.

use super::child::EndedChild;
use super::context::TurnContext;
use super::end_reason::{EndReason, FailureReport};
use super::reply::{self, Footer, Summary};
use super::{Outcome, Turn};
use crate::agent::event::{Event, Said, TurnSummary};
use crate::agent::stop::Stopper;
use crate::domain::{AgentConfig, Assistant, Item};
use crate::llm::Target;
use crate::store::{FinishedTurn, FirstPart, NewPart, Part, PartKind, PartState, StoreError};

/// What the model is told where the daemon stopped in the middle of a turn: the next turn continues.
pub(super) const CUT_BY_STOP: &str =
    "The daemon was stopped here and started again; the turn above was interrupted.";

/// What the model is told where its server was not served for a while.
const CUT_BY_END_OF_SERVICE: &str =
    "The turn above was interrupted here: this server was not served for a while.";

/// What people are told at the end of a turn.
struct Told {
    /// The answer that the next turn reads.
    answer: Option<Assistant>,
    kind: PartKind,
    words: String,
}

impl Turn {
    /// Ends the turn with its outcome.
    pub(super) async fn finish(&mut self, outcome: Outcome) -> Result<(), StoreError> {
        self.accounting.count_beside();
        let exit = outcome.exit();
        if exit == EndReason::Interrupted {
            let note = match self.context.stop.by() {
                Stopper::Machine(_) => CUT_BY_END_OF_SERVICE,
                Stopper::Person(_) | Stopper::Destroyer(_) | Stopper::Shutdown => CUT_BY_STOP,
            };
            self.close_calls_of_stage().await?;
            self.add_note(note).await?;
        }
        let said = outcome.said();
        let Told {
            answer,
            kind,
            words,
        } = self.told(outcome);
        let ended = FinishedTurn {
            answer: answer.clone(),
            exit,
            steps: self.accounting.tally.steps,
            usage: self.accounting.tally.usage,
            cost: self.accounting.tally.cost,
            parts: reply::parts(
                &words,
                &self.footer(exit, said),
                kind,
                self.context.reference.reply_to,
            ),
            first: FirstPart::Sends,
            attached: self.accounting.hand_over(),
            report: self.owed.row.clone(),
        };
        let (store, id) = (&self.context.deps.store, self.context.id());
        let queued = match self.in_its_place.take() {
            None => store.finish_turn(id, ended).await?,
            Some(EndedChild { below, turn }) => {
                let queued = store.finish_turn_and_child(id, ended, &below).await?;
                if let Some(mut child) = turn {
                    child.accounting.stored();
                    child.ended(exit, said == Said::Answer).log();
                }
                self.closed_calls(below.results);
                queued
            }
        };
        self.accounting.stored();
        if let Some(answer) = answer {
            self.transcript.push(Item::Assistant(answer));
        }
        self.ended(exit, said == Said::Answer).log();
        let summary = TurnSummary { exit, said };
        self.shows_parts(queued);
        self.context
            .deps
            .emit(Event::TurnEnded(self.context.reference.clone(), summary));
        Ok(())
    }

    /// What people are told about `outcome`, without secrets.
    fn told(&self, outcome: Outcome) -> Told {
        let (answer, kind, words) = match outcome {
            Outcome::Answer {
                answer,
                exit,
                remark,
                citations,
            } => {
                let other =
                    other_model(&self.context, &self.setup.config, self.answered_by.as_ref());
                let remarks: Vec<&str> = remark.iter().chain(&other).map(String::as_str).collect();
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
                let run = self.context.id().short();
                (None, PartKind::Failure, format!("{lines}\n-# run {run}"))
            }
            Outcome::None { exit, error } => {
                let report = FailureReport {
                    exit,
                    error: &error,
                    steps: self.accounting.tally.steps,
                    usage: self.whole().usage,
                    cost: self.whole().cost,
                    elapsed: self.clock.elapsed(),
                    by: self.context.stop.by(),
                    children: self.below.lock().aborted,
                    run: self.context.id(),
                };
                (None, PartKind::Failure, report.render())
            }
            Outcome::Withheld { told, .. } => {
                let run = self.context.id().short();
                (None, PartKind::Failure, format!("{told}\n-# run {run}"))
            }
        };
        let redactor = &self.context.deps.services.redactor;
        Told {
            answer,
            kind,
            words: redactor.redact(&words).into_owned(),
        }
    }

    /// Has parts posted that were just stored.
    pub(super) fn shows_parts(&self, queued: Vec<Part>) {
        let Some(first) = queued.into_iter().next() else {
            return;
        };
        self.context.deps.emit(match first.state {
            PartState::Sending => Event::Reply(Box::new(first)),
            _ => Event::Outbox(self.context.reference.channel),
        });
    }

    /// What people read at once of an answer that does not end the turn: the words before its calls.
    pub(super) fn words_of(&self, answer: &Assistant) -> Vec<NewPart> {
        if self.context.child.is_some() || self.context.run.hides_words() {
            return Vec::new();
        }
        let words = self.context.deps.services.redactor.redact(&answer.text);
        reply::words(&words, self.live.step())
    }

    /// The footer under the turn's outcome.
    fn footer(&self, exit: EndReason, said: Said) -> Footer {
        let people = self.context.run.people();
        let author = people.first().copied().or(self.context.asker);
        let effective = self
            .context
            .deps
            .effective(&self.context.agent, &self.setup.config);
        let is_long = effective
            .notify_after
            .is_some_and(|least| self.clock.worked() >= least);
        let line = match said {
            Said::Answer => reply::summary(Summary {
                exit,
                branch: self.context.branch,
                tally: self.whole(),
                below: *self.below.lock(),
                run: self.context.id(),
                elapsed: self.clock.elapsed(),
            }),
            // It says all of this itself.
            Said::Report => None,
        };
        Footer {
            mention: author.filter(|_| is_long),
            line,
            button: reply::button(exit),
        }
    }
}

/// A line for people under an answer by another model than the agent's.
fn other_model(
    context: &TurnContext,
    config: &AgentConfig,
    answered_by: Option<&Target>,
) -> Option<String> {
    let by = answered_by?;
    let own = context.deps.targets(&context.agent, config).ok()?;
    let own = own.first().filter(|own| *own != by)?;
    // Providers may offer a model of the same name.
    let name = |target: &Target| {
        if by.model == own.model {
            target.to_string()
        } else {
            target.model.clone()
        }
    };
    Some(format!(
        "-# Answered by `{}`, not by `{}`.",
        name(by),
        name(own)
    ))
}

impl Outcome {
    pub(super) fn exit(&self) -> EndReason {
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
