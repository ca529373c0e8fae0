//! Watches a step: accounting, budgets, the live status.

use std::time::Duration;

use crate::domain::{AttemptOutcome, Cost, Usage};
use crate::llm::catalog::Price;
use crate::llm::error::LlmError;
use crate::llm::provider::Delta;
use crate::llm::target::Target;

/// Why an attempt must not be made; the step ends with this reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotAsked(pub String);

/// Watches a step. Every method has a default that does nothing, so each observer names only what it needs.
#[async_trait::async_trait]
pub trait Observer: Send {
    /// Before each attempt: how many tokens it may answer with, [`Planned::max_output`] at most.
    ///
    /// # Errors
    ///
    /// When it must not be made; the step ends with this reason.
    async fn may_ask(&mut self, planned: &Planned<'_>) -> Result<u32, NotAsked> {
        Ok(planned.max_output)
    }

    /// A piece of the answer. Pieces of an earlier attempt of this step are void once [`Observer::attempted`] reported that
    /// it failed.
    fn delta(&mut self, _delta: Delta<'_>) {}

    /// After each attempt, failed ones included, for a row of the accounts.
    async fn attempted(&mut self, _attempt: &Attempt) {}

    /// It waits for a place at its provider, and `before` others go first. Called again while it waits.
    fn queues(&mut self, _before: usize) {}

    /// The wait for a place ended, with or without one: for a row of the accounts that is not a request.
    async fn queued(&mut self, _wait: &Attempt) {}

    /// Every target is rate limited: nothing is asked for this long.
    async fn waiting(&mut self, _pause: Duration) {}

    /// `target` is not asked any more in this turn. The operator must know about a refused key or spent credit.
    async fn lost(&mut self, _target: &Target, _error: &LlmError) {}
}

/// An attempt that is about to be made.
#[derive(Clone, Copy, Debug)]
pub struct Planned<'a> {
    pub target: &'a Target,
    /// Which attempt of the step it is, counted from 1.
    pub number: u32,
    /// The tokens of the request.
    pub input: u64,
    /// Most tokens of the answer, unless the observer allows fewer.
    pub max_output: u32,
    /// Prices of the target; `None` where they are not known.
    pub price: Option<Price>,
}

/// Rounding errors of summed prices are smaller: the last token is not refused because of them.
const HAIR: f64 = 1e-9;

impl Planned<'_> {
    /// Its highest cost with an answer of `output` tokens.
    pub fn worst(&self, output: u32) -> Cost {
        match self.price {
            Some(price) => Cost::Usd(price.at_worst(self.input, u64::from(output))),
            None => Cost::Unknown,
        }
    }

    /// Output tokens that `usd` dollars pay for. A request of unknown price is not held against money.
    pub fn affordable(&self, usd: f64) -> u32 {
        let Some(price) = self.price else {
            return self.max_output;
        };
        let question = price.at_worst(self.input, 0);
        let answer = price.at_worst(self.input, u64::from(self.max_output)) - question;
        let left = usd - question;
        if answer > 0.0 {
            let share = (left / answer + HAIR).clamp(0.0, 1.0);
            (share * f64::from(self.max_output)) as u32
        } else if left >= -HAIR {
            self.max_output
        } else {
            0
        }
    }
}

/// An attempt that was made, or a wait for a place before one.
#[derive(Clone, Debug)]
pub struct Attempt {
    pub target: Target,
    /// Which attempt of the step it was, counted from 1.
    pub number: u32,
    /// Tokens it used, as far as they were counted.
    pub usage: Usage,
    pub cost: Cost,
    pub outcome: AttemptOutcome,
    /// What went wrong, in the words of [`LlmError::message`].
    pub error: Option<String>,
    /// From the request to the end of the answer; how long it waited.
    pub latency: Duration,
    /// The provider's id of the request.
    pub request_id: Option<String>,
}
