//! Decides which of one step's targets is next. Pure bookkeeping.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;
use uuid::Uuid;

use crate::llm::error::{FailureClass, LlmError};
use crate::llm::target::Target;

/// A limit for longer than this is a quota of hours or days: its target is not asked again in the step.
const LONG: Duration = Duration::from_secs(600);

/// How long to wait between requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Shortest wait if every target is limited.
    pub min_wait: Duration,
    /// Longest wait if every target is limited.
    pub max_wait: Duration,
    /// Pause before a target that failed for another reason is asked again; doubled each time.
    pub pause: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            min_wait: Duration::from_secs(1),
            max_wait: Duration::from_secs(60),
            pause: Duration::from_millis(250),
        }
    }
}

/// Targets that are no longer asked, and why.
#[derive(Clone, Debug, Default)]
pub struct TurnHealth {
    out: HashMap<Target, Cause>,
}

/// Why a target is no longer asked.
#[derive(Clone, Debug)]
struct Cause {
    /// Whether it applies to every request of the run: a key, a quota or a model that does not exist.
    lasts: bool,
    error: String,
}

impl TurnHealth {
    /// Adds the facts that another turn of the same run learned about its targets. A refusal of one request affects
    /// only that request.
    pub fn absorb(&mut self, other: Self) {
        let lasting = other.out.into_iter().filter(|(_, cause)| cause.lasts);
        self.out.extend(lasting);
    }

    /// Returns why one of `targets` is no longer asked.
    fn cause<'a>(&self, mut targets: impl Iterator<Item = &'a Target>) -> Option<&str> {
        targets.find_map(|target| Some(self.out.get(target)?.error.as_str()))
    }

    /// Returns whether `target` can still be asked.
    pub fn serves(&self, target: &Target) -> bool {
        !self.out.contains_key(target)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Ask(Target),
    /// Ask nothing for this long; `limited` if that is because of rate limits.
    Wait {
        pause: Duration,
        limited: bool,
    },
    /// No target is left.
    Nobody,
}

/// One target within one step.
struct Place {
    target: Target,
    /// Its window is too small for this step.
    too_small: bool,
    /// Its limit lasts longer than a step waits.
    exhausted: bool,
    /// Its limit, with the time.
    limited: Option<Limit>,
    /// Failures for another reason in this step.
    failures: u32,
    /// It failed, and is not asked before this time.
    paused_until: Option<Instant>,
}

#[derive(Clone, Copy)]
struct Limit {
    asked_for: Duration,
    until: Instant,
}

/// The targets of one step.
pub(super) struct Schedule<'a> {
    places: Vec<Place>,
    /// Index of the next place in order.
    at: usize,
    health: &'a mut TurnHealth,
    pace: Pace,
}

impl<'a> Schedule<'a> {
    pub(super) fn new(
        targets: &[Target],
        fits: impl Fn(&Target) -> bool,
        health: &'a mut TurnHealth,
        pace: Pace,
    ) -> Self {
        let place = |target: &Target| Place {
            target: target.clone(),
            too_small: !fits(target),
            exhausted: false,
            limited: None,
            failures: 0,
            paused_until: None,
        };
        Self {
            places: targets.iter().map(place).collect(),
            at: 0,
            health,
            pace,
        }
    }

    /// Returns the next target in order that may be asked now, or how long to wait for one.
    pub(super) fn next(&mut self, now: Instant) -> Next {
        let count = self.places.len();
        let order = (0..count).map(|step| (self.at + step) % count);
        let serving: Vec<usize> = order
            .filter(|index| self.serves(&self.places[*index]))
            .collect();
        let unlimited: Vec<usize> = serving
            .iter()
            .copied()
            .filter(|index| !self.places[*index].is_limited(now))
            .collect();
        let ready = unlimited
            .iter()
            .find(|index| self.places[**index].pause(now).is_zero());
        if let Some(index) = ready {
            self.at = (index + 1) % count;
            return Next::Ask(self.places[*index].target.clone());
        }
        if let Some(pause) = unlimited
            .iter()
            .map(|index| self.places[*index].pause(now))
            .min()
        {
            return Next::Wait {
                pause,
                limited: false,
            };
        }
        let longest = serving
            .iter()
            .filter_map(|index| self.places[*index].limited)
            .map(|limit| limit.asked_for)
            .max();
        let Some(longest) = longest else {
            return Next::Nobody;
        };
        for place in &mut self.places {
            place.limited = None;
        }
        self.at = 0;
        Next::Wait {
            pause: self
                .pace
                .jittered(longest.clamp(self.pace.min_wait, self.pace.max_wait)),
            limited: true,
        }
    }

    /// Records the meaning of `error` for `target`; true if it is no longer asked in this turn.
    pub(super) fn failed(&mut self, target: &Target, error: &LlmError, now: Instant) -> bool {
        let Some(place) = self.places.iter_mut().find(|place| &place.target == target) else {
            return false;
        };
        match error.class {
            FailureClass::RateLimit => {
                let asked_for = error.retry_after.unwrap_or_default();
                if asked_for > LONG {
                    // Hours: after a shorter wait it would only be refused again.
                    place.exhausted = true;
                    return true;
                }
                let asked_for = asked_for.clamp(self.pace.min_wait, self.pace.max_wait);
                place.limited = Some(Limit {
                    asked_for,
                    until: now + asked_for,
                });
                false
            }
            FailureClass::AuthError
            | FailureClass::QuotaExceeded
            | FailureClass::ModelError
            | FailureClass::InvalidRequest => {
                let lasts = matches!(
                    error.class,
                    FailureClass::AuthError | FailureClass::QuotaExceeded
                ) || error.status == Some(404);
                let cause = Cause {
                    lasts,
                    error: error.to_string(),
                };
                self.health.out.insert(target.clone(), cause);
                true
            }
            FailureClass::ContextExceeded => {
                place.too_small = true;
                false
            }
            FailureClass::ServerError
            | FailureClass::NetworkError
            | FailureClass::Timeout
            | FailureClass::InvalidResponse => {
                let pause = self.pace.pause * 2_u32.saturating_pow(place.failures.min(6));
                place.failures += 1;
                place.paused_until = Some(now + self.pace.jittered(pause));
                false
            }
        }
    }

    /// Returns why the first of the targets that are no longer asked failed.
    pub(super) fn cause(&self) -> Option<&str> {
        let targets = self.places.iter().map(|place| &place.target);
        self.health.cause(targets)
    }

    /// Returns whether a target was skipped because its window is too small.
    pub(super) fn anybody_too_small(&self) -> bool {
        self.places
            .iter()
            .any(|place| place.too_small && self.health.serves(&place.target))
    }

    fn serves(&self, place: &Place) -> bool {
        !place.too_small && !place.exhausted && self.health.serves(&place.target)
    }
}

impl Place {
    fn is_limited(&self, now: Instant) -> bool {
        self.limited.is_some_and(|limit| limit.until > now)
    }

    fn pause(&self, now: Instant) -> Duration {
        self.paused_until
            .map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
    }
}

impl Pace {
    /// Returns `pause` plus up to a tenth, so that many agents do not return at the same time; never over the longest
    /// wait.
    fn jittered(self, pause: Duration) -> Duration {
        let (random, _) = Uuid::new_v4().as_u64_pair();
        let share = (random % 1_000) as f64 / 10_000.0;
        (pause + pause.mul_f64(share)).min(self.max_wait.max(pause))
    }
}
