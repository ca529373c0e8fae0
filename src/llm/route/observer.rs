//! Who watches a step: accounting, budgets, the live status.

use std::time::Duration;

use crate::domain::{Cost, Usage};
use crate::llm::{Delta, FailureClass, LlmError, Target};

/// Watches a step. Every method has a default that does nothing, so each observer names only what it needs.
#[async_trait::async_trait]
pub trait Observer: Send {
    /// Before each attempt, with the most that it can cost.
    ///
    /// # Errors
    ///
    /// When it must not be made; the step ends with this reason.
    async fn may_ask(&mut self, _planned: &Planned<'_>) -> Result<(), String> {
        Ok(())
    }

    /// A piece of the answer. What came in an earlier attempt of this step is void once
    /// [`Observer::attempted`] told that it failed.
    fn delta(&mut self, _delta: Delta<'_>) {}

    /// After each attempt, whatever came of it: a row of the accounts.
    async fn attempted(&mut self, _attempt: &Attempt) {}

    /// Every target is rate limited: nobody is asked for so long.
    async fn waiting(&mut self, _pause: Duration) {}

    /// `target` is out for the rest of the turn. For a refused key or spent credit the operator must know.
    async fn lost(&mut self, _target: &Target, _error: &LlmError) {}
}

/// Watches nothing: for summaries and checks that nobody sees.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}

/// An attempt that is about to be made.
#[derive(Clone, Copy, Debug)]
pub struct Planned<'a> {
    /// Whom it asks.
    pub target: &'a Target,
    /// Which attempt of the step it is, counted from 1.
    pub number: u32,
    /// The most that it can cost.
    pub worst: Cost,
}

/// An attempt that was made.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// Whom it asked.
    pub target: Target,
    /// Which attempt of the step it was, counted from 1.
    pub number: u32,
    /// Tokens it took, as far as they were counted.
    pub usage: Usage,
    /// What it cost.
    pub cost: Cost,
    /// What came of it.
    pub outcome: Outcome,
    /// What went wrong, in the words of [`LlmError::message`].
    pub error: Option<String>,
    /// From the request to the end of the answer.
    pub latency: Duration,
    /// The provider's id of the request.
    pub request_id: Option<String>,
}

/// What came of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A whole answer.
    Answered,
    /// A failure of this class.
    Failed(FailureClass),
    /// It was cut short by a stop.
    Stopped,
}

impl Outcome {
    /// The word that accounts keep: `ok`, `stopped`, or the class.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "ok",
            Self::Stopped => "stopped",
            Self::Failed(class) => class.as_str(),
        }
    }
}
