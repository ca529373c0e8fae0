//! How the loop ends: with an answer, with the report that a role owes, or with the last step that a limit leaves.

use super::end_reason::{CUT_ANSWER, EndReason};
use super::report::{self, Reported};
use super::steps::{Next, RetryCounters};
use super::{Outcome, Turn};
use crate::agent::stop::{Stop, StopSignal};
use crate::domain::{Assistant, StopReason};
use crate::llm::Reply;
use crate::store::StoreError;
use crate::text;

/// Why tools are off in a step.
pub(super) struct Last {
    pub(super) exit: EndReason,
    detail: String,
    /// Whether the model knows.
    is_told: bool,
}

impl Last {
    pub(super) fn new(exit: EndReason, detail: String) -> Self {
        Self {
            exit,
            detail,
            is_told: false,
        }
    }

    /// Whether what a report lacks may be asked for again: not where time or money is used up, or somebody waits for the
    /// end.
    fn leaves_steps(&self) -> bool {
        !matches!(
            self.exit,
            EndReason::Stopped | EndReason::TimeLimit | EndReason::Budget
        )
    }

    /// Whether everything was tried to make the conversation shorter.
    pub(super) fn is_full(&self) -> bool {
        self.exit == EndReason::Window
    }

    /// Why so little fits, where the conversation is not the reason.
    pub(super) fn crowded_by(&self) -> Option<&str> {
        (self.is_full() && !self.detail.is_empty()).then_some(self.detail.as_str())
    }
}

impl Turn {
    /// The first limit that this turn has reached.
    pub(super) fn limit_reached(&self) -> Option<Last> {
        let limits = self.limits();
        let reached = |exit, detail| Some(Last::new(exit, detail));
        if self.context.stop.asked() == Some(Stop::Graceful) {
            return reached(EndReason::Stopped, String::new());
        }
        if self.accounting.tally.steps >= limits.steps {
            return reached(
                EndReason::StepLimit,
                text::count(limits.steps as usize, "step", "steps"),
            );
        }
        if self.clock.worked() >= limits.work {
            return reached(EndReason::TimeLimit, crate::clock::duration(limits.work));
        }
        let usage = self.whole().usage;
        let used = usage.input_total() + usage.output;
        if let Some(most) = limits.tokens
            && used >= most
        {
            return reached(EndReason::Budget, format!("{most} tokens"));
        }
        None
    }

    /// Tells the model once that the step is its last, and why.
    pub(super) async fn tell_last(&mut self, last: Option<&mut Last>) -> Result<(), StoreError> {
        let Some(last) = last.filter(|last| !last.is_told) else {
            return Ok(());
        };
        last.is_told = true;
        self.log_final_turn(last.exit);
        let left = self.tools_that_end();
        let left: Vec<&str> = left.iter().map(|tool| tool.name.as_str()).collect();
        let note = last.exit.last_step_note(&last.detail, &left);
        self.add_note(note).await
    }

    /// Whether an answer is the report that the turn's role owes.
    pub(super) fn is_report(&self, answer: &Assistant) -> bool {
        let says_it = answer.tool_calls.is_empty() && !answer.text.trim().is_empty();
        self.contract().is_some() && (says_it || report::is_called(answer))
    }

    /// Ends the turn with a report that holds what it must; otherwise the model is asked for what is missing.
    pub(super) async fn reported(
        &mut self,
        answer: Assistant,
        stop: StopReason,
        last: Option<&Last>,
        retries: &mut RetryCounters,
    ) -> Result<Next, StoreError> {
        let may_go_on = last.is_none_or(Last::leaves_steps) && !self.context.is_stopping();
        let cut = (stop == StopReason::MaxTokens).then(|| CUT_ANSWER.to_owned());
        let limit = last.and_then(|last| last.exit.remark(&last.detail));
        let exit = match last {
            Some(last) if last.exit != EndReason::Report => last.exit,
            Some(_) | None => EndReason::Answered,
        };
        Ok(match self.take_report(answer, may_go_on).await? {
            Reported::Whole { answer, fields } => {
                let remarks: Vec<String> = [fields, cut, limit].into_iter().flatten().collect();
                Next::Over(Outcome::Answer {
                    answer,
                    exit,
                    remark: (!remarks.is_empty()).then(|| remarks.join("\n")),
                    citations: std::mem::take(&mut retries.citations),
                })
            }
            Reported::Lacks => Next::Again,
            Reported::Never => {
                let exit = match last {
                    Some(last) if last.exit == EndReason::Stopped => EndReason::Stopped,
                    Some(_) | None => EndReason::Report,
                };
                Next::Over(self.without_whole_report(exit, String::new()))
            }
        })
    }

    /// The last step's reply: its text is the answer; its calls are ignored, except one that hands over or reports.
    pub(super) async fn closing(
        &mut self,
        reply: Reply,
        last: &Last,
        retries: &mut RetryCounters,
    ) -> Result<Next, StoreError> {
        if reply.truncated_calls.is_empty()
            && let Some(handed) = self.handed_over(&reply.assistant)
        {
            return Ok(Next::Over(self.hand_over(reply.assistant, handed).await?));
        }
        retries.cite(reply.citations);
        let mut answer = reply.assistant;
        if !(self.contract().is_some() && report::is_called(&answer)) {
            answer.tool_calls.clear();
        }
        if self.is_report(&answer) {
            return self.reported(answer, reply.stop, Some(last), retries).await;
        }
        if answer.text.trim().is_empty() {
            return Ok(Next::Over(Outcome::None {
                exit: last.exit,
                error: last.detail.clone(),
            }));
        }
        let cut = (reply.stop == StopReason::MaxTokens).then_some(CUT_ANSWER);
        let limit = last.exit.remark(&last.detail);
        let remarks: Vec<&str> = cut.into_iter().chain(limit.as_deref()).collect();
        Ok(Next::Over(Outcome::Answer {
            answer,
            exit: last.exit,
            remark: (!remarks.is_empty()).then(|| remarks.join("\n")),
            citations: std::mem::take(&mut retries.citations),
        }))
    }

    /// A reply without calls: the answer, unless it is empty.
    pub(super) async fn answered(
        &mut self,
        answer: Assistant,
        stop: StopReason,
        retries: &mut RetryCounters,
    ) -> Result<Next, StoreError> {
        let is_cut = stop == StopReason::MaxTokens;
        if !answer.text.trim().is_empty() {
            return Ok(Next::Over(Outcome::Answer {
                answer,
                exit: EndReason::Answered,
                remark: is_cut.then(|| CUT_ANSWER.to_owned()),
                citations: std::mem::take(&mut retries.citations),
            }));
        }
        if retries.nudged {
            let used = answer.usage.map_or(0, |usage| usage.output);
            let error = match used {
                0 => "the model answered twice with nothing".to_owned(),
                used => format!(
                    "the model answered twice with nothing, though it used {} output tokens, probably to think: allow it more output, or have it think less",
                    text::thousands(used)
                ),
            };
            return Ok(Next::Over(Outcome::None {
                exit: EndReason::Failed,
                error,
            }));
        }
        retries.nudged = true;
        let note = if is_cut {
            "Your answer reached its length limit before it said anything. Answer the person, or go on with a tool call, and think less."
        } else {
            "Your answer was empty. Answer the person, or go on with a tool call."
        };
        self.add_note(note).await?;
        Ok(Next::Again)
    }
}

/// An abort or a shutdown ends the turn at once.
pub(super) fn cut_short(stop: &StopSignal) -> Option<Outcome> {
    let exit = match stop.asked()? {
        Stop::Graceful => return None,
        Stop::Abort => EndReason::Aborted,
        Stop::Shutdown => EndReason::Interrupted,
    };
    Some(Outcome::None {
        exit,
        error: String::new(),
    })
}
