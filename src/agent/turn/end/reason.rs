//! How a turn ends: one exit reason each, and the words that people get when there is no answer.

use std::time::Duration;

use crate::agent::stop::Stopper;
use crate::clock;
use crate::domain::{Cost, TurnId, Usage};
use crate::text::{self, escape};

pub use crate::store::EndReason;

/// A line for people, under an answer that its length limit ended.
pub(in crate::agent) const CUT_ANSWER: &str =
    "-# Cut off at the length limit of an answer. Ask for the rest to continue.";

impl EndReason {
    /// What the model is told before its last step, which has no tools but those that end a turn and are `left`.
    pub fn last_step_note(self, detail: &str, left: &[&str]) -> String {
        let why = match self {
            Self::Stopped => "A person asked you to stop.",
            Self::StepLimit => "You have used all steps of this turn.",
            Self::TimeLimit => "You have used the working time of this turn.",
            Self::Budget => "The budget of this turn is used.",
            Self::Loop => "You repeat the same calls and get the same results.",
            Self::Errors => "Your tool calls failed in five steps in a row.",
            Self::BadCalls => "Your tool calls were cut off or made no sense twice.",
            Self::Window => "This conversation has filled your context window.",
            Self::Report => "Your report still lacks what it owes.",
            Self::Answered | Self::Refused | Self::Aborted | Self::Interrupted | Self::Failed => {
                "This turn ends now."
            }
        };
        let detail = if detail.is_empty() {
            String::new()
        } else {
            format!(" ({detail})")
        };
        let names: Vec<String> = left.iter().map(|tool| text::code_span(tool)).collect();
        let names = names.join(" and ");
        let how = match left {
            [] => "tools are off: answer now with what you have".to_owned(),
            ["hand_over"] => {
                format!("tools but {names} are off: call it, or answer now with what you have")
            }
            [_] => format!("tools but {names} are off: call it now with what you have"),
            _ => format!("tools but {names} are off: call one of them now with what you have"),
        };
        format!(
            "{why}{detail} This is your last step and {how}, and say what is done and what is not."
        )
    }

    /// A line for people, under an answer that was ended by a limit.
    pub fn remark(self, detail: &str) -> Option<String> {
        let why = match self {
            Self::StepLimit => "the step limit was reached",
            Self::TimeLimit => "the time limit was reached",
            Self::Budget => "the budget was reached",
            Self::Loop => "the agent kept repeating the same calls",
            Self::Errors => "five tool calls in a row failed",
            Self::BadCalls => "the model twice sent tool calls that were cut off or invalid",
            Self::Window => "the conversation filled the context window",
            Self::Stopped => "it was stopped",
            Self::Answered
            | Self::Refused
            | Self::Aborted
            | Self::Interrupted
            | Self::Failed
            | Self::Report => return None,
        };
        Some(if detail.is_empty() {
            format!("-# Stopped early: {why}.")
        } else {
            format!("-# Stopped early: {why} ({detail}).")
        })
    }
}

/// Why a turn has no answer: reason, last error, steps, cost, how to continue.
pub(in crate::agent) struct FailureReport<'a> {
    pub exit: EndReason,
    /// The last thing that went wrong, for people.
    pub error: &'a str,
    pub steps: u32,
    /// Tokens in all.
    pub usage: Usage,
    /// Money in all.
    pub cost: Cost,
    /// Time from start to end.
    pub elapsed: Duration,
    /// Who or what stopped the turn, if anything did.
    pub by: Stopper,
    /// How it goes on after the daemon's next start, if it may.
    pub goes_on: Option<GoesOn>,
    /// Sub-agents that were ended with it.
    pub children: usize,
    pub run: TurnId,
    /// What has to happen before a further try can succeed, where that is known.
    pub next: Option<String>,
    /// What it was doing when it ended: `Running bash`.
    pub doing: String,
    /// What it changed and ran, in words.
    pub receipt: Option<String>,
}

/// How a turn that the daemon's stop ended goes on after the next start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::agent) enum GoesOn {
    ByItself,
    /// People are asked first.
    WhenAsked,
    /// Only by a person.
    ByHand,
}

impl GoesOn {
    const fn words(self) -> &'static str {
        match self {
            Self::ByItself => "It goes on by itself after the restart.",
            Self::WhenAsked => "After the restart I ask how to go on.",
            Self::ByHand => "After the restart you can have it go on.",
        }
    }
}

impl FailureReport<'_> {
    /// The report as one message.
    pub(in crate::agent) fn render(&self) -> String {
        let reason = match self.exit {
            EndReason::Aborted => return self.aborted(),
            EndReason::Interrupted => return self.interrupted(),
            EndReason::Stopped => "I stopped, and the model gave no final answer.",
            EndReason::Refused => "The model declined to answer.",
            EndReason::StepLimit => "I used all steps of this turn before I had an answer.",
            EndReason::TimeLimit => {
                "I used all the working time of this turn before I had an answer."
            }
            EndReason::Budget => "The budget is used up.",
            EndReason::Loop => "I kept repeating the same calls.",
            EndReason::Errors => "Five tool calls in a row failed.",
            EndReason::BadCalls => "The model twice sent tool calls that were cut off or invalid.",
            EndReason::Window => "The conversation does not fit the model's context window.",
            EndReason::Report => "The answer lacks what it owes.",
            EndReason::Answered | EndReason::Failed => "I could not get an answer from the model.",
        };
        let error = if self.error.is_empty() {
            String::new()
        } else {
            let error = text::one_line(self.error, 500);
            format!("\nLast error: {}", escape::sentence(&error))
        };
        let next = self.next.as_deref().unwrap_or(way_out(self.exit));
        format!("**{reason}**{error}\n{}\n{next}", self.progress())
    }

    /// What was done before it failed, and the run. Where nothing was, only the run.
    fn progress(&self) -> String {
        let tokens = self.usage.input_total() + self.usage.output;
        if tokens == 0 {
            return self.run();
        }
        format!(
            "Steps done: {} · {tokens} tokens{} · {} · run {}",
            self.steps,
            money(self.cost),
            clock::duration(self.elapsed),
            self.run.short(),
        )
    }

    fn aborted(&self) -> String {
        let children = match self.children {
            0 => String::new(),
            1 => " 1 sub-agent was ended with it.".to_owned(),
            count => format!(" {count} sub-agents were ended with it."),
        };
        format!(
            "Stopped at step {}.{children} Nothing more will run. Send a message to continue.\n{}{}",
            self.steps.max(1),
            self.what_was_done(),
            self.run()
        )
    }

    /// What it was doing when it was ended, and what it had done by then, as a line.
    fn what_was_done(&self) -> String {
        let mut letters = self.doing.chars();
        let doing = letters.next().map(|first| {
            let rest = escape::text(letters.as_str());
            format!("It was {}{rest}.", first.to_lowercase())
        });
        let done = self.receipt.as_ref();
        let done = done.map(|receipt| format!("Done before: {receipt}."));
        let all: Vec<String> = doing.into_iter().chain(done).collect();
        if all.is_empty() {
            return String::new();
        }
        format!("{}\n", all.join(" "))
    }

    fn interrupted(&self) -> String {
        let (cause, go_on) = match &self.by {
            Stopper::Machine(what) => (
                format!("{what} stopped the turn"),
                "Send a message to continue.",
            ),
            Stopper::Person(_) | Stopper::Destroyer(_) | Stopper::Shutdown => (
                "Chorus is being stopped".to_owned(),
                "Once Chorus runs again, send a message to continue.",
            ),
        };
        if let Some(goes_on) = self.goes_on {
            return format!(
                "Interrupted at step {}: {cause}. {}\n{}",
                self.steps.max(1),
                goes_on.words(),
                self.run()
            );
        }
        format!(
            "Interrupted at step {}: {cause}. The conversation is kept, but this turn does not continue by itself. {go_on}\n{}",
            self.steps.max(1),
            self.run()
        )
    }

    /// The run, as small print: `/run show` tells what was done.
    fn run(&self) -> String {
        format!("-# run {}", self.run.short())
    }
}

/// What people can do after such an end.
const fn way_out(exit: EndReason) -> &'static str {
    match exit {
        EndReason::Budget => {
            "`/agent config` raises `budget_turn` and `budget_day`; the operator sets the others in `budgets` of config.json. Budgets of a day or month renew when it ends (UTC)."
        }
        EndReason::Window => {
            "Use `/context compact`, or `/context clear save_first:true` for a fresh start."
        }
        EndReason::Answered
        | EndReason::Refused
        | EndReason::Stopped
        | EndReason::Aborted
        | EndReason::Interrupted
        | EndReason::StepLimit
        | EndReason::TimeLimit
        | EndReason::Loop
        | EndReason::Errors
        | EndReason::BadCalls
        | EndReason::Report
        | EndReason::Failed => "Send a message to try again; the conversation is kept.",
    }
}

fn money(cost: Cost) -> String {
    match cost {
        Cost::Usd(usd) if usd > 0.0 => format!(" · ${usd:.3}"),
        Cost::Usd(_) | Cost::Unknown => String::new(),
    }
}
