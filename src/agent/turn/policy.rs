//! Decides what happens next in a turn: the last step, another attempt, a summary, the end. It does nothing itself.

use std::time::Duration;

use super::Outcome;
use super::end::{CUT_ANSWER, EndReason};
use super::stuck::Stuck;
use crate::agent::deps::Limits;
use crate::agent::models::budget::OverBudget;
use crate::agent::stop::Stop;
use crate::domain::{Assistant, StopReason, Usage};
use crate::llm::{FailureClass, Reply, TruncatedCall};
use crate::text;

/// Times a provider may pause a long step of its own before the turn ends.
const PAUSES: u32 = 5;

/// Times that a conversation is made shorter because every window was too small for it; each time it becomes about half as
/// long.
const SHORTENINGS: u32 = 4;

/// Why tools are off in a step.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::agent) struct Last {
    pub(in crate::agent) exit: EndReason,
    pub(in crate::agent) detail: String,
    /// Whether the model knows.
    pub(in crate::agent) is_told: bool,
}

impl Last {
    pub(in crate::agent) fn new(exit: EndReason, detail: impl Into<String>) -> Self {
        Self {
            exit,
            detail: detail.into(),
            is_told: false,
        }
    }

    /// Returns whether the model may be asked again for what a report lacks: not where time or money is used up, or
    /// somebody waits for the end.
    pub(in crate::agent) fn leaves_steps(&self) -> bool {
        !matches!(
            self.exit,
            EndReason::Stopped | EndReason::TimeLimit | EndReason::Budget
        )
    }

    /// Returns whether everything was tried to make the conversation shorter.
    fn is_full(&self) -> bool {
        self.exit == EndReason::Window
    }

    /// Returns why so little fits, where the conversation is not the reason.
    fn crowded_by(&self) -> Option<&str> {
        (self.is_full() && !self.detail.is_empty()).then_some(self.detail.as_str())
    }

    /// Returns the line for people under an answer that this limit ended.
    pub(in crate::agent) fn remark(&self) -> Option<String> {
        self.exit.remark(&self.detail)
    }
}

/// Counters of what may happen only a few times in a turn.
#[derive(Default)]
pub(in crate::agent) struct RetryCounters {
    pauses: u32,
    nudged: bool,
    pub(in crate::agent) told_cut: bool,
    /// Times that the conversation was too long for every window.
    too_long: u32,
    /// Sources of searches in earlier replies of the turn.
    citations: Vec<(String, String)>,
}

impl RetryCounters {
    /// Keeps sources for the end: the search may be in one reply, and the answer in a later one.
    pub(in crate::agent) fn cite(&mut self, citations: Vec<(String, String)>) {
        for (title, url) in citations {
            if !self.citations.iter().any(|(_, known)| *known == url) {
                self.citations.push((title, url));
            }
        }
    }

    /// Returns the sources of all replies, for the answer.
    pub(in crate::agent) fn cited(&mut self) -> Vec<(String, String)> {
        std::mem::take(&mut self.citations)
    }

    /// Counts that the conversation was too long; returns whether to make it shorter once more.
    fn shortens(&mut self) -> bool {
        let may = self.too_long < SHORTENINGS;
        self.too_long += u32::from(may);
        may
    }
}

/// What a reply means for the loop.
pub(in crate::agent) enum Next {
    Again,
    /// The next step is the last.
    Last(Last),
    /// The turn is over.
    Over(Outcome),
}

/// What a turn has used so far.
pub(in crate::agent) struct Used {
    pub(in crate::agent) steps: u32,
    pub(in crate::agent) worked: Duration,
    /// With all below it.
    pub(in crate::agent) usage: Usage,
}

/// Returns the first limit that a turn has reached.
pub(in crate::agent) fn limit_reached(
    asked: Option<Stop>,
    used: &Used,
    limits: &Limits,
) -> Option<Last> {
    let reached = |exit, detail| Some(Last::new(exit, detail));
    if asked == Some(Stop::Graceful) {
        return reached(EndReason::Stopped, String::new());
    }
    if used.steps >= limits.steps {
        let steps = text::count(limits.steps as usize, "step", "steps");
        return reached(EndReason::StepLimit, steps);
    }
    if used.worked >= limits.work {
        return reached(EndReason::TimeLimit, crate::clock::duration(limits.work));
    }
    let tokens = used.usage.input_total() + used.usage.output;
    match limits.tokens {
        Some(most) if tokens >= most => reached(EndReason::Budget, format!("{most} tokens")),
        Some(_) | None => None,
    }
}

/// Returns the outcome of an abort or a shutdown, which end the turn at once.
pub(in crate::agent) fn cut_short(asked: Option<Stop>) -> Option<Outcome> {
    let exit = match asked? {
        Stop::Graceful => return None,
        Stop::Abort => EndReason::Aborted,
        Stop::Shutdown => EndReason::Interrupted,
    };
    Some(Outcome::None {
        exit,
        error: String::new(),
    })
}

/// What the loop does about a reply.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::agent) enum Meaning {
    /// Its words and calls count.
    Whole,
    /// The model declined: the turn ends with that.
    Refused,
    /// The provider paused: the next request continues.
    Paused,
    /// It did not fit: the conversation becomes shorter.
    TooLong,
    /// It did not fit after several attempts.
    Full,
    /// Calls in it are cut or make no sense.
    CallsCut,
}

/// Works out what a reply means by how it stopped.
pub(in crate::agent) fn meaning(reply: &Reply, retries: &mut RetryCounters) -> Meaning {
    match reply.stop {
        StopReason::Refusal => Meaning::Refused,
        StopReason::ContextExceeded if retries.shortens() => Meaning::TooLong,
        StopReason::ContextExceeded => Meaning::Full,
        StopReason::Pause
            if retries.pauses < PAUSES && can_go_on(&reply.assistant, &reply.truncated_calls) =>
        {
            retries.pauses += 1;
            Meaning::Paused
        }
        // Told once that it wrote a call as text, the model means the text.
        _ if reply
            .truncated_calls
            .iter()
            .any(|call| !(call.is_text && retries.told_cut)) =>
        {
            Meaning::CallsCut
        }
        StopReason::Pause | StopReason::MaxTokens | StopReason::EndTurn | StopReason::ToolUse => {
            Meaning::Whole
        }
    }
}

/// Returns whether a paused answer can be continued: it has content, and no call that waits for its result.
fn can_go_on(answer: &Assistant, truncated_calls: &[TruncatedCall]) -> bool {
    let has_calls = !answer.tool_calls.is_empty() || !truncated_calls.is_empty();
    let is_empty = answer.text.trim().is_empty() && answer.opaque.is_empty();
    !has_calls && !is_empty
}

/// What the loop does where no model answered.
pub(in crate::agent) enum AfterFailure {
    /// Makes the conversation shorter. Where it cannot, the turn ends with the error.
    MakeShorter(String),
    Over(Outcome),
}

/// Works out what follows where no model answered.
pub(in crate::agent) fn after_failure(
    class: FailureClass,
    error: String,
    last: Option<&Last>,
    retries: &mut RetryCounters,
) -> AfterFailure {
    let is_too_long = class == FailureClass::ContextExceeded;
    if is_too_long && !last.is_some_and(Last::is_full) && retries.shortens() {
        return AfterFailure::MakeShorter(error);
    }
    AfterFailure::Over(Outcome::None {
        exit: match (last, class) {
            (Some(last), _) => last.exit,
            (None, FailureClass::ContextExceeded) => EndReason::Window,
            (None, _) => EndReason::Failed,
        },
        error: match last.and_then(Last::crowded_by) {
            Some(why) => why.to_owned(),
            None => error,
        },
    })
}

/// Works out what follows where a stop or a deadline ended a request.
pub(in crate::agent) fn after_stop(asked: Option<Stop>, last: Option<&Last>) -> Next {
    match (last, cut_short(asked)) {
        (_, Some(outcome)) => Next::Over(outcome),
        // A person asked for it, or the working time is over: the next step is the last.
        (None, None) => Next::Again,
        (Some(last), None) => Next::Over(Outcome::None {
            exit: last.exit,
            error: "the closing answer took too long".to_owned(),
        }),
    }
}

/// Works out what follows where a budget forbids the request.
pub(in crate::agent) fn after_budget(over: OverBudget, last: Option<&Last>) -> Next {
    match last {
        None if over.last_words => Next::Last(Last::new(EndReason::Budget, over.why)),
        _ => Next::Over(Outcome::None {
            exit: EndReason::Budget,
            error: over.why,
        }),
    }
}

/// Returns the last step of a turn that goes in circles.
pub(in crate::agent) fn after_circling(stuck: Stuck) -> Last {
    let exit = match stuck {
        Stuck::Errors => EndReason::Errors,
        Stuck::Repeating | Stuck::PingPong => EndReason::Loop,
    };
    Last::new(exit, String::new())
}

/// What the loop does about a reply without calls.
pub(in crate::agent) enum Answered {
    Over(Outcome),
    /// It is empty: the model is told this, and asked again.
    Nudge(&'static str),
}

/// Works out whether a reply without calls is the answer. An empty one is asked for again once.
pub(in crate::agent) fn answered(
    answer: Assistant,
    stop: StopReason,
    retries: &mut RetryCounters,
) -> Answered {
    let is_cut = stop == StopReason::MaxTokens;
    if !answer.text.trim().is_empty() {
        return Answered::Over(Outcome::Answer {
            answer,
            exit: EndReason::Answered,
            remark: is_cut.then(|| CUT_ANSWER.to_owned()),
            citations: retries.cited(),
        });
    }
    if retries.nudged {
        let used = answer.usage.map_or(0, |usage| usage.output);
        let error = match used {
            0 => "the model sent two empty answers".to_owned(),
            used => format!(
                "the model sent two empty answers but used {} output tokens, probably to think: allow it more output, or reduce its thinking",
                text::thousands(used)
            ),
        };
        return Answered::Over(Outcome::None {
            exit: EndReason::Failed,
            error,
        });
    }
    retries.nudged = true;
    Answered::Nudge(if is_cut {
        "Your answer reached its length limit before it said anything. Answer the person, or go on with a tool call, and think less."
    } else {
        "Your answer was empty. Answer the person, or go on with a tool call."
    })
}

/// Returns the outcome of a turn whose last step gave `answer`.
pub(in crate::agent) fn closed(
    answer: Assistant,
    stop: StopReason,
    last: &Last,
    retries: &mut RetryCounters,
) -> Outcome {
    if answer.text.trim().is_empty() {
        return Outcome::None {
            exit: last.exit,
            error: last.detail.clone(),
        };
    }
    let cut = (stop == StopReason::MaxTokens).then(|| CUT_ANSWER.to_owned());
    Outcome::Answer {
        answer,
        exit: last.exit,
        remark: joined([cut, last.remark()]),
        citations: retries.cited(),
    }
}

/// Joins lines for people; `None` where there is none.
pub(in crate::agent) fn joined(lines: impl IntoIterator<Item = Option<String>>) -> Option<String> {
    let lines: Vec<String> = lines.into_iter().flatten().collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// How full the room is, for the decision about a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::agent) enum Fullness {
    Fits,
    /// A summary begins while the turn works.
    BeginsSummary,
    /// The next step waits for a summary.
    WaitsForSummary,
}

/// Works out whether the older part of a conversation is summarised, by the `share` of the room that it takes.
pub(in crate::agent) fn fullness(share: f64, begin: f64, wait: f64) -> Fullness {
    if share >= wait {
        Fullness::WaitsForSummary
    } else if share >= begin {
        Fullness::BeginsSummary
    } else {
        Fullness::Fits
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use super::*;
    use crate::domain::{CallId, ToolCall};

    fn limits() -> Limits {
        Limits {
            steps: 3,
            calls: 8,
            work: Duration::from_secs(60),
            approval: Duration::from_secs(60),
            tokens: Some(1_000),
        }
    }

    fn used(steps: u32, seconds: u64, output: u64) -> Used {
        Used {
            steps,
            worked: Duration::from_secs(seconds),
            usage: Usage {
                output,
                ..Usage::default()
            },
        }
    }

    fn says(text: &str) -> Assistant {
        Assistant {
            text: text.to_owned(),
            ..Assistant::default()
        }
    }

    fn reply(text: &str, stop: StopReason) -> Reply {
        Reply {
            assistant: says(text),
            stop,
            usage: Usage::default(),
            request_id: None,
            citations: Vec::new(),
            truncated_calls: Vec::new(),
        }
    }

    #[test]
    fn the_first_limit_reached_ends_the_turn() {
        let exit = |asked, used| limit_reached(asked, &used, &limits()).map(|last| last.exit);
        assert_eq!(exit(None, used(2, 59, 999)), None);
        let stopped = Some(Stop::Graceful);
        assert_eq!(exit(stopped, used(3, 60, 0)), Some(EndReason::Stopped));
        assert_eq!(exit(None, used(3, 60, 0)), Some(EndReason::StepLimit));
        assert_eq!(exit(None, used(2, 60, 1_000)), Some(EndReason::TimeLimit));
        assert_eq!(exit(None, used(2, 59, 1_000)), Some(EndReason::Budget));
        // These end it at once instead, without a last step.
        assert_eq!(exit(Some(Stop::Abort), used(2, 59, 0)), None);
    }

    #[test]
    fn only_an_abort_and_a_shutdown_cut_a_turn_short() {
        let exit = |asked| cut_short(asked).map(|outcome| outcome.exit());
        assert_eq!(exit(None), None);
        assert_eq!(exit(Some(Stop::Graceful)), None);
        assert_eq!(exit(Some(Stop::Abort)), Some(EndReason::Aborted));
        assert_eq!(exit(Some(Stop::Shutdown)), Some(EndReason::Interrupted));
    }

    #[test]
    fn a_conversation_becomes_shorter_a_few_times() {
        let mut retries = RetryCounters::default();
        let too_long = reply("", StopReason::ContextExceeded);
        for _ in 0..SHORTENINGS {
            assert_eq!(meaning(&too_long, &mut retries), Meaning::TooLong);
        }
        assert_eq!(meaning(&too_long, &mut retries), Meaning::Full);
        let class = FailureClass::ContextExceeded;
        let after = after_failure(class, "too long".to_owned(), None, &mut retries);
        let AfterFailure::Over(outcome) = after else {
            panic!("it is made shorter once more");
        };
        assert_eq!(outcome.exit(), EndReason::Window);
    }

    #[test]
    fn a_pause_is_continued_a_few_times_and_only_where_it_can_be() {
        let mut retries = RetryCounters::default();
        let mut calls = reply("", StopReason::Pause);
        calls.assistant.tool_calls.push(ToolCall {
            id: CallId("1".to_owned()),
            name: "bash".to_owned(),
            arguments: Default::default(),
        });
        assert_eq!(meaning(&calls, &mut retries), Meaning::Whole);
        for _ in 0..PAUSES {
            let paused = reply("I search.", StopReason::Pause);
            assert_eq!(meaning(&paused, &mut retries), Meaning::Paused);
        }
        let paused = reply("I search.", StopReason::Pause);
        assert_eq!(meaning(&paused, &mut retries), Meaning::Whole);
    }

    #[test]
    fn a_call_as_text_is_the_text_once_the_model_knows() {
        let mut retries = RetryCounters::default();
        let mut cut = reply("<call>", StopReason::EndTurn);
        cut.truncated_calls.push(TruncatedCall {
            id: CallId("1".to_owned()),
            name: "bash".to_owned(),
            why: "It is text.".to_owned(),
            is_text: true,
        });
        assert_eq!(meaning(&cut, &mut retries), Meaning::CallsCut);
        retries.told_cut = true;
        assert_eq!(meaning(&cut, &mut retries), Meaning::Whole);
    }

    #[test]
    fn an_empty_answer_is_asked_for_once_more() {
        let mut retries = RetryCounters::default();
        let empty = || says(" ");
        let again = answered(empty(), StopReason::MaxTokens, &mut retries);
        assert!(matches!(again, Answered::Nudge(note) if note.contains("length limit")));
        let again = answered(empty(), StopReason::EndTurn, &mut retries);
        let Answered::Over(Outcome::None { exit, error }) = again else {
            panic!("it is asked a third time");
        };
        assert_eq!(exit, EndReason::Failed);
        assert_eq!(error, "the model sent two empty answers");
    }

    #[test]
    fn an_answer_has_the_sources_of_all_replies_and_says_that_it_was_cut() {
        let mut retries = RetryCounters::default();
        let source = || ("A".to_owned(), "https://a.example".to_owned());
        retries.cite(vec![source(), source()]);
        let answer = answered(says("Yes"), StopReason::MaxTokens, &mut retries);
        let Answered::Over(Outcome::Answer {
            remark, citations, ..
        }) = answer
        else {
            panic!("it is no answer");
        };
        assert_eq!(remark.as_deref(), Some(CUT_ANSWER));
        assert_eq!(citations, [source()]);
    }

    #[test]
    fn the_last_step_gives_the_answer_or_the_reason() {
        let mut retries = RetryCounters::default();
        let last = Last::new(EndReason::StepLimit, "3 steps");
        let said = closed(says("So far"), StopReason::EndTurn, &last, &mut retries);
        let Outcome::Answer { exit, remark, .. } = said else {
            panic!("it is no answer");
        };
        assert_eq!(exit, EndReason::StepLimit);
        assert!(remark.unwrap().contains("the step limit was reached"));
        let silent = closed(says(""), StopReason::EndTurn, &last, &mut retries);
        assert!(matches!(silent, Outcome::None { error, .. } if error == "3 steps"));
    }

    #[test]
    fn a_stop_during_a_request_leads_to_the_last_step_and_during_that_to_the_end() {
        let last = Last::new(EndReason::Stopped, "");
        assert!(matches!(after_stop(None, None), Next::Again));
        assert!(matches!(
            after_stop(Some(Stop::Graceful), Some(&last)),
            Next::Over(_)
        ));
        assert!(matches!(after_stop(Some(Stop::Abort), None), Next::Over(_)));
    }

    #[test]
    fn a_budget_leaves_one_last_step_where_it_can() {
        let over = |last_words| OverBudget {
            why: "used".to_owned(),
            last_words,
            raisable: None,
        };
        assert!(matches!(after_budget(over(true), None), Next::Last(_)));
        assert!(matches!(after_budget(over(false), None), Next::Over(_)));
        let last = Last::new(EndReason::StepLimit, "");
        assert!(matches!(
            after_budget(over(true), Some(&last)),
            Next::Over(_)
        ));
    }

    #[test]
    fn a_summary_begins_before_a_step_waits_for_it() {
        assert_eq!(fullness(0.69, 0.7, 0.95), Fullness::Fits);
        assert_eq!(fullness(0.7, 0.7, 0.95), Fullness::BeginsSummary);
        assert_eq!(fullness(0.95, 0.7, 0.95), Fullness::WaitsForSummary);
    }

    #[test]
    fn circles_and_errors_have_exit_reasons_of_their_own() {
        assert_eq!(after_circling(Stuck::Errors).exit, EndReason::Errors);
        assert_eq!(after_circling(Stuck::PingPong).exit, EndReason::Loop);
        assert!(!Last::new(EndReason::Budget, "").leaves_steps());
        assert!(Last::new(EndReason::Loop, "").leaves_steps());
    }
}
