//! Gets one step's answer from a turn's targets: which one to ask next, when to wait, when to give up.
//!
//! ```text
//! targets in order ─▶ ask ─▶ answer
//!        ▲             │
//!        │             ├─ limited ─▶ next target; all limited ─▶ wait, then again
//!        │             ├─ key, credit or model refused ─▶ out for the turn, next target
//!        └─────────────┴─ server, line, silence, nonsense ─▶ next target, after a short pause the same
//! ```
//!
//! The router keeps nothing between steps and writes nothing into the history. [`TurnHealth`] holds the state of a
//! turn, and the [`Observer`] learns what others must know.

mod bodies;
mod observer;
mod queue;
mod refused;
mod schedule;
mod span;

use std::sync::Arc;

use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, warn};

pub use observer::{Attempt, NotAsked, Observer, Planned};
pub use schedule::{Pace, TurnHealth};

use super::catalog::{Catalog, ModelFacts, SMALL_WINDOW};
use super::error::{FailureClass, LlmError};
use super::history;
use super::local::Reach;
use super::places::{Lane, Places};
use super::provider::{Delta, Encoded, Provider, Reply, ToolSchema};
use super::providers::Providers;
use super::target::Target;
use super::{text_calls, thoughts};
use crate::config::Effort;
use crate::domain::{AttemptOutcome, Cost, Item, Usage};
use bodies::{Bodies, Known};
use refused::{Refused, Trial};
use schedule::{Next, Schedule};

/// Default limit for the tokens of an answer.
pub const DEFAULT_OUTPUT: u32 = 16_384;

/// Fewest tokens that leave room for an answer.
const MIN_OUTPUT: u64 = 256;

/// The request of one step, for any target.
#[derive(Clone, Debug)]
pub struct StepRequest {
    /// System prompt, docs and facts of the session, in order.
    pub system: Vec<String>,
    /// The conversation, valid (see [`history::repair`]).
    pub items: Arc<Vec<Item>>,
    /// Tools it may call; empty on a last step.
    pub tools: Arc<Vec<ToolSchema>>,
    /// Most output tokens; `None` means [`DEFAULT_OUTPUT`]. The model's own limit also applies.
    pub max_output: Option<u32>,
    /// Whether the provider may search the web.
    pub web_search: bool,
    /// How long a model that can think should think; `None` means as configured for it.
    pub effort: Option<Effort>,
    /// The lane in which it waits for a place.
    pub lane: Lane,
    /// The permitted destinations.
    pub reach: Reach,
    /// The tokens of the request, by [`history::used_tokens`].
    pub used_tokens: u64,
}

/// A step's answer, and the target that gave it.
#[derive(Clone, Debug)]
pub struct StepReply {
    /// The answer; its calls have ids that no other call of the conversation has.
    pub reply: Reply,
    pub target: Target,
    pub cost: Cost,
    pub attempts: u32,
    pub unseen: Unseen,
}

/// Pictures of the conversation that were not sent to the model that answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unseen {
    /// The number of these pictures.
    pub pictures: usize,
    /// The targets that their server refused in this step.
    pub newly: usize,
}

/// Why a step has no answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StepFailure {
    /// A person or the daemon stopped it.
    #[error("stopped")]
    Stopped,
    /// [`Observer::may_ask`] refused, for this reason.
    #[error("{0}")]
    Refused(#[from] NotAsked),
    /// No place became free in time; the text names the provider.
    #[error("{0}")]
    NoPlace(String),
    /// No remaining target has a window that fits the conversation.
    #[error("the conversation does not fit the window of any model of this agent")]
    ContextExceeded,
    /// No attempt gave an answer. The error is that of the last one.
    #[error("{last}")]
    Failed {
        last: Box<LlmError>,
        /// The number of attempts in this step.
        attempts: u32,
    },
    /// There is no target, or all of them failed in an earlier step.
    #[error("no model is left to ask in this turn{}", .cause.as_ref().map_or_else(String::new, |cause| format!(" ({cause})")))]
    NobodyLeft {
        /// Why the first of them is no longer asked.
        cause: Option<String>,
    },
}

#[derive(Clone, Debug)]
pub struct Router {
    providers: Arc<Providers>,
    catalog: Arc<Catalog>,
    max_attempts: u32,
    /// How long to wait before asking again.
    pub pace: Pace,
    /// How many requests run at once.
    pub places: Places,
}

impl Router {
    /// Asks `providers`, at most `max_attempts` times a step.
    pub fn new(providers: Arc<Providers>, catalog: Arc<Catalog>, max_attempts: u32) -> Self {
        Self {
            providers,
            catalog,
            max_attempts: max_attempts.max(1),
            pace: Pace::default(),
            places: Places::default(),
        }
    }

    /// Asks `targets` in order until one answers.
    ///
    /// # Errors
    ///
    /// Fails with [`StepFailure`]; a `stop` ends waits and requests at once.
    pub async fn step(
        &self,
        targets: &[Target],
        step: &StepRequest,
        health: &mut TurnHealth,
        observer: &mut dyn Observer,
        stop: &CancellationToken,
    ) -> Result<StepReply, StepFailure> {
        let mut schedule =
            Schedule::new(targets, |target| self.fits(target, step), health, self.pace);
        let mut encoded = Bodies::default();
        let mut attempts = 0;
        let mut last = None;
        // The same request in another form, which does not count as a further attempt.
        let mut again = None;
        let mut trial = Trial::default();
        loop {
            let next = match again.take() {
                Some(target) => Next::Ask(target),
                None if attempts < self.max_attempts => schedule.next(Instant::now()),
                None => Next::Nobody,
            };
            let target = match next {
                Next::Ask(target) => target,
                Next::Wait { pause, limited } => {
                    if limited {
                        observer.waiting(pause).await;
                    }
                    tokio::select! {
                        biased;
                        () = stop.cancelled() => return Err(StepFailure::Stopped),
                        () = sleep(pause) => continue,
                    }
                }
                Next::Nobody => return Err(failure(last, attempts, &schedule)),
            };
            let asked = self
                .ask(&target, step, &mut encoded, attempts + 1, observer, stop)
                .await;
            match asked {
                Ok(mut reply) => {
                    self.look_at_window(&target).await;
                    self.catalog
                        .was_answered(&target, reply.usage.input_total());
                    history::make_ids_unique(&mut reply.assistant, &step.items);
                    let cost = self.catalog.cost(&target, reply.usage);
                    return Ok(StepReply {
                        reply,
                        unseen: encoded.unseen(&target),
                        target,
                        cost,
                        attempts: attempts + 1,
                    });
                }
                Err(Unanswered::Failure(failure)) => return Err(failure),
                Err(Unanswered::Error { error, sent }) => {
                    attempts += u32::from(sent);
                    let changed_by = encoded.changed_by(&target);
                    let refused = Refused {
                        target: &target,
                        step,
                        changed_by,
                        attempts_left: self.max_attempts.saturating_sub(attempts),
                    };
                    let (error, is_repaired) = self.repaired(error, &refused, &mut trial);
                    if is_repaired {
                        encoded.forget(&target);
                        again = Some(target);
                    } else if schedule.failed(&target, &error, Instant::now()) {
                        observer.lost(&target, &error).await;
                    }
                    last = Some(error);
                }
            }
        }
    }

    /// Makes one attempt and reports it to the observer, whether it succeeds or fails.
    async fn ask(
        &self,
        target: &Target,
        step: &StepRequest,
        encoded: &mut Bodies,
        number: u32,
        observer: &mut dyn Observer,
        stop: &CancellationToken,
    ) -> Result<Reply, Unanswered> {
        let unsent = |error| Unanswered::Error { error, sent: false };
        let facts = self.catalog.facts(target);
        let provider = self.provider(target).map_err(unsent)?;
        // First of all: nothing is reserved for a request that waits.
        let place = self.place(target, step.lane, number, observer, stop).await;
        let place = place.map_err(Unanswered::Failure)?;
        let planned = Planned {
            target,
            number,
            input: step.used_tokens,
            max_output: max_output(&facts, step),
            price: facts.price,
        };
        let granted = observer
            .may_ask(&planned)
            .await
            .map_err(|why| Unanswered::Failure(StepFailure::Refused(why)))?;
        let max_output = granted.clamp(1, planned.max_output);
        let body = encoded
            .body(
                provider.as_ref(),
                target,
                step,
                Known {
                    facts: &facts,
                    refused: self.catalog.refused(&target.provider),
                },
                max_output,
            )
            .map_err(unsent)?;
        let began = Instant::now();
        let span = span::of(&planned, max_output);
        let answer = receive(
            provider.as_ref(),
            &body,
            facts.tools,
            &step.tools,
            observer,
            stop,
        );
        let answer = answer.instrument(span.clone()).await;
        drop(place);
        let (usage, outcome, request_id) = match &answer {
            None => (None, AttemptOutcome::Stopped, None),
            Some(Ok(reply)) => (
                Some(reply.usage),
                AttemptOutcome::Ok,
                reply.request_id.clone(),
            ),
            Some(Err(error)) => (
                error.usage.as_deref().copied(),
                AttemptOutcome::Failed(error.class),
                error.request_id.clone(),
            ),
        };
        let attempt = Attempt {
            target: target.clone(),
            number,
            usage: usage.unwrap_or_default(),
            cost: self.cost(target, usage, outcome),
            outcome,
            error: answer
                .as_ref()
                .and_then(|answer| answer.as_ref().err().map(|error| error.message.clone())),
            latency: began.elapsed(),
            request_id,
        };
        span::end(&span, &attempt);
        observer.attempted(&attempt).await;
        match answer {
            None => Err(Unanswered::Failure(StepFailure::Stopped)),
            Some(Ok(reply)) => Ok(reply),
            Some(Err(error)) => Err(Unanswered::Error { error, sent: true }),
        }
    }

    /// Returns the cost of an attempt. A refused request costs nothing; the cost of one that was cut off without a
    /// count is unknown.
    fn cost(&self, target: &Target, usage: Option<Usage>, outcome: AttemptOutcome) -> Cost {
        match (usage, outcome) {
            (Some(usage), _) => self.catalog.cost(target, usage),
            (None, AttemptOutcome::Ok | AttemptOutcome::Stopped | AttemptOutcome::ToolError) => {
                self.catalog.cost_without_count(target)
            }
            (None, AttemptOutcome::Failed(class)) => match class {
                FailureClass::Timeout | FailureClass::InvalidResponse => {
                    self.catalog.cost_without_count(target)
                }
                FailureClass::RateLimit
                | FailureClass::AuthError
                | FailureClass::QuotaExceeded
                | FailureClass::ModelError
                | FailureClass::ServerError
                | FailureClass::NetworkError
                | FailureClass::ContextExceeded
                | FailureClass::InvalidRequest => Cost::Usd(0.0),
            },
        }
    }

    /// Asks a local server for the window of the model that just answered.
    async fn look_at_window(&self, target: &Target) {
        if !self.providers.is_local(&target.provider) {
            return;
        }
        let Some(provider) = self.providers.get(&target.provider) else {
            return;
        };
        if let Some(window) = provider.loaded_window(&target.model).await
            && self.catalog.tell_loaded(target, window)
            && window < SMALL_WINDOW
        {
            warn!(
                "{target} runs with a window of {window} tokens, too few for most work of an agent: \
                 load it on its server with 32768 or more (docs/local-models.md)"
            );
        }
    }

    fn provider(&self, target: &Target) -> Result<Arc<dyn Provider>, LlmError> {
        match self.providers.get(&target.provider) {
            Some(provider) => Ok(provider),
            None => Err(super::parts::inexpressible(
                &target.provider,
                "this provider is not configured",
            )),
        }
    }

    fn fits(&self, target: &Target, step: &StepRequest) -> bool {
        step.used_tokens
            .saturating_add(MIN_OUTPUT.min(self.catalog.facts(target).window / 8))
            <= self.catalog.facts(target).window
    }
}

/// Sends a request, and shows its answer as it arrives; `None` if `stop` came first. A model that `has_tools` calls
/// them itself; another one calls them in its text.
async fn receive(
    provider: &dyn Provider,
    body: &Encoded,
    has_tools: bool,
    tools: &[ToolSchema],
    observer: &mut dyn Observer,
    stop: &CancellationToken,
) -> Option<Result<Reply, LlmError>> {
    let mut preview = text_calls::Preview::default();
    let mut thoughts = thoughts::Preview::default();
    let mut show = |delta: Delta<'_>| observer.delta(delta);
    let mut without_thoughts = |delta: Delta<'_>| {
        if has_tools {
            show(delta);
        } else {
            preview.take(delta, &mut show);
        }
    };
    let mut on_delta = |delta: Delta<'_>| thoughts.take(delta, &mut without_thoughts);
    let answer = tokio::select! {
        biased;
        () = stop.cancelled() => None,
        answer = provider.stream(body, &mut on_delta) => Some(answer),
    };
    thoughts.end(&mut without_thoughts);
    preview.end(&mut show);
    let read = |mut reply: Reply| {
        let answer = thoughts::without(&reply.assistant.text);
        if answer.len() < reply.assistant.text.len() {
            reply.assistant.text = answer.to_owned();
        }
        if has_tools {
            text_calls::read_stray(reply, tools)
        } else {
            text_calls::read(reply)
        }
    };
    answer.map(|answer| answer.map(read))
}

/// Returns the most output tokens: the minimum of the request's limit, the model's limit and the room in its window.
fn max_output(facts: &ModelFacts, step: &StepRequest) -> u32 {
    let left = facts.window.saturating_sub(step.used_tokens).max(1);
    let left = u32::try_from(left).unwrap_or(u32::MAX);
    step.max_output
        .unwrap_or(DEFAULT_OUTPUT)
        .min(facts.max_output)
        .min(left)
}

/// Why one attempt gave no answer.
enum Unanswered {
    Failure(StepFailure),
    /// Another target may answer. Only a request that was sent counts as an attempt.
    Error {
        error: LlmError,
        sent: bool,
    },
}

fn failure(last: Option<LlmError>, attempts: u32, schedule: &Schedule<'_>) -> StepFailure {
    match last {
        Some(error) if error.class == FailureClass::ContextExceeded => StepFailure::ContextExceeded,
        Some(error) => StepFailure::Failed {
            last: Box::new(error),
            attempts,
        },
        None if schedule.anybody_too_small() => StepFailure::ContextExceeded,
        None => StepFailure::NobodyLeft {
            cause: schedule.cause().map(str::to_owned),
        },
    }
}
