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

/// Watches a step. Every method has a default that does nothing, so each observer implements only the ones it needs.
#[async_trait::async_trait]
pub trait Observer: Send {
    /// Returns, before each attempt, how many tokens the answer may have, [`Planned::max_output`] at most.
    ///
    /// # Errors
    ///
    /// Fails if the attempt must not be made; the step ends with this reason.
    async fn may_ask(&mut self, planned: &Planned<'_>) -> Result<u32, NotAsked> {
        Ok(planned.max_output)
    }

    /// Receives a piece of the answer. Pieces of an earlier attempt of this step are void once [`Observer::attempted`]
    /// reported that it failed.
    fn delta(&mut self, _delta: Delta<'_>) {}

    /// Receives each attempt, including failed ones, for a row of the accounts.
    async fn attempted(&mut self, _attempt: &Attempt) {}

    /// Reports that the request waits for a place at its provider, with `before` others ahead of it. Called again while
    /// it waits.
    fn queues(&mut self, _before: usize) {}

    /// Reports the end of the wait for a place, successful or not: for a row of the accounts that is not a request.
    async fn queued(&mut self, _wait: &Attempt) {}

    /// Reports that every target is rate limited: nothing is asked for this long.
    async fn waiting(&mut self, _pause: Duration) {}

    /// Reports that `target` is no longer asked in this turn. The operator must know about a refused key or spent
    /// credit.
    async fn lost(&mut self, _target: &Target, _error: &LlmError) {}
}

/// An attempt that is about to be made.
#[derive(Clone, Copy, Debug)]
pub struct Planned<'a> {
    pub target: &'a Target,
    /// The number of the attempt in its step, counted from 1.
    pub number: u32,
    /// The tokens of the request.
    pub input: u64,
    /// Most tokens of the answer, unless the observer allows fewer.
    pub max_output: u32,
    /// Prices of the target; `None` if they are not known.
    pub price: Option<Price>,
}

/// Rounding errors of summed prices are smaller: the last token is not refused because of them.
const HAIR: f64 = 1e-9;

impl Planned<'_> {
    /// Returns its highest cost with an answer of `output` tokens.
    pub fn worst(&self, output: u32) -> Cost {
        match self.price {
            Some(price) => Cost::Usd(price.at_worst(self.input, u64::from(output))),
            None => Cost::Unknown,
        }
    }

    /// Returns the output tokens that `usd` dollars pay for. A request of unknown price does not count against money.
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
    /// The number of the attempt in its step, counted from 1.
    pub number: u32,
    /// Used tokens, as far as they were counted.
    pub usage: Usage,
    pub cost: Cost,
    pub outcome: AttemptOutcome,
    /// The failure, in the words of [`LlmError::message`].
    pub error: Option<String>,
    /// The time from the request to the end of the answer, or of the wait.
    pub latency: Duration,
    /// The provider's id of the request.
    pub request_id: Option<String>,
}
