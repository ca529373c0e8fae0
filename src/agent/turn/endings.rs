//! How the loop ends: with an answer, with the report that a role owes, or with the last step that a limit leaves.

use super::end_reason::{CUT_ANSWER, EndReason};
use super::policy::{self, Answered, Last, Next, RetryCounters, Used};
use super::report::{self, Reported};
use super::{Outcome, Turn};
use crate::domain::{Assistant, StopReason};
use crate::llm::Reply;
use crate::store::StoreError;

impl Turn {
    /// The first limit that this turn has reached.
    pub(super) fn limit_reached(&self) -> Option<Last> {
        // Read before the clock: what is left to a child is counted from its clock, too.
        let limits = self.limits();
        let used = Used {
            steps: self.accounting.tally.steps,
            worked: self.clock.worked(),
            usage: self.whole().usage,
        };
        policy::limit_reached(self.context.stop.asked(), &used, &limits)
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
        let limit = last.and_then(Last::remark);
        let exit = match last {
            Some(last) if last.exit != EndReason::Report => last.exit,
            Some(_) | None => EndReason::Answered,
        };
        Ok(match self.take_report(answer, may_go_on).await? {
            Reported::Whole { answer, fields } => Next::Over(Outcome::Answer {
                answer,
                exit,
                remark: policy::joined([fields, cut, limit]),
                citations: retries.cited(),
            }),
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
        let closed = policy::closed(answer, reply.stop, last, retries);
        Ok(Next::Over(closed))
    }

    /// A reply without calls: the answer, unless it is empty.
    pub(super) async fn answered(
        &mut self,
        answer: Assistant,
        stop: StopReason,
        retries: &mut RetryCounters,
    ) -> Result<Next, StoreError> {
        Ok(match policy::answered(answer, stop, retries) {
            Answered::Over(outcome) => Next::Over(outcome),
            Answered::Nudge(note) => {
                self.add_note(note).await?;
                Next::Again
            }
        })
    }
}
