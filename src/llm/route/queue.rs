//! Waits for a place at a target's provider.

use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::observer::{Attempt, Observer};
use super::{Router, StepFailure};
use crate::domain::{AttemptOutcome, Cost, FailureClass, Usage};
use crate::llm::places::{Lane, Place};
use crate::llm::target::Target;
use crate::text;

/// How often a waiting request updates how many are before it.
const LOOKS: Duration = Duration::from_secs(1);

/// How often a request does so with more than [`MANY`] before it. Each change is an edit of a message, and a long queue
/// would use up all requests that Discord allows, including those for answers.
const SELDOM: Duration = Duration::from_secs(5);

/// With so many before it, a change of one is not worth an update.
const MANY: usize = 10;

impl Router {
    /// Waits for a place for attempt `number`. The observer is notified only if there is a wait.
    pub(super) async fn place(
        &self,
        target: &Target,
        lane: Lane,
        number: u32,
        observer: &mut dyn Observer,
        stop: &CancellationToken,
    ) -> Result<Place, StepFailure> {
        let mut queued = match self.places.ask(&target.provider, lane) {
            Ok(place) => return Ok(place),
            Err(queued) => queued,
        };
        let began = Instant::now();
        let gives_up_after = self.places.queue_limits().gives_up_after;
        let gives_up = began + gives_up_after;
        let waited = loop {
            let before = queued.before();
            observer.queues(before);
            let looks = if before > MANY { SELDOM } else { LOOKS };
            tokio::select! {
                biased;
                () = stop.cancelled() => break Err(StepFailure::Stopped),
                place = queued.place() => break Ok(place),
                () = sleep_until(gives_up) => {
                    break Err(StepFailure::NoPlace(format!(
                        "no free slot at {} for {} (max_requests {})",
                        target.provider,
                        in_words(gives_up_after),
                        queued.limit()
                    )));
                }
                () = sleep(looks) => {}
            }
        };
        drop(queued);
        let wait = Attempt {
            target: target.clone(),
            number,
            usage: Usage::default(),
            cost: Cost::Usd(0.0),
            outcome: match &waited {
                Ok(_) => AttemptOutcome::Ok,
                Err(StepFailure::Stopped) => AttemptOutcome::Stopped,
                Err(_) => AttemptOutcome::Failed(FailureClass::Timeout),
            },
            error: waited.as_ref().err().map(ToString::to_string),
            latency: began.elapsed(),
            request_id: None,
        };
        observer.queued(&wait).await;
        waited
    }
}

/// Returns a length of time in words: `10 minutes`.
fn in_words(length: Duration) -> String {
    let seconds = usize::try_from(length.as_secs()).unwrap_or(usize::MAX);
    match seconds / 60 {
        0 => text::count(seconds, "second", "seconds"),
        minutes => text::count(minutes, "minute", "minutes"),
    }
}
