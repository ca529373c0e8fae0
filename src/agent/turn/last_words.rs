//! The last words of a turn, which are paid for before others work for it, so that it can tell what they did.
//!
//! What others spend meanwhile cannot be taken back, and neither can what they say: it comes into the request. So each result has
//! room in what is reserved, a longer one takes more while the budgets have it, and else it is told by its ends.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Mutex;

use super::Turn;
use crate::agent::deps::AgentDeps;
use crate::agent::models::budget::{Caps, LEAST_WORDS, Reservation, ReservationRequest, Spender};
use crate::clock;
use crate::llm::catalog::Price;
use crate::llm::route::Planned;
use crate::llm::{Target, tokens};
use crate::tools::ResultRoom;
use crate::tools::ports::NextRequest;

/// Tokens for each result: a report of the usual length, the ends of a longer one, or a picture.
const OF_RESULT: u64 = 1_700;

/// Tokens of the note that a step is the last.
const OF_NOTE: u64 = 150;

/// The last words of a turn for which others work.
pub(in crate::agent) struct LastWords {
    deps: Arc<AgentDeps>,
    spender: Spender,
    caps: Caps,
    target: Target,
    max_output: u32,
    price: Option<Price>,
    /// Real tokens for each estimated one.
    dense: f64,
    reserved: Mutex<Reserved>,
}

/// What is reserved for the request.
struct Reserved {
    /// Its tokens.
    input: u64,
    held: Option<Reservation>,
}

impl fmt::Debug for LastWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LastWords")
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}

impl LastWords {
    fn planned(&self, input: u64) -> Planned<'_> {
        Planned {
            target: &self.target,
            number: 1,
            input,
            max_output: self.max_output,
            price: self.price,
        }
    }

    /// Room for all results that it can be paid with.
    pub(in crate::agent) fn room(self: Arc<Self>) -> ResultRoom {
        ResultRoom::of(u64::MAX, Some(self))
    }

    fn real(&self, estimated: u64) -> u64 {
        (estimated as f64 * self.dense).ceil() as u64
    }
}

#[async_trait]
impl NextRequest for LastWords {
    async fn pays_for(&self, tokens: u64) -> bool {
        let more = (tokens + tokens::PER_MESSAGE).saturating_sub(OF_RESULT);
        if more == 0 {
            return true;
        }
        let mut reserved = self.reserved.lock().await;
        let input = reserved.input + self.real(more);
        let planned = self.planned(input);
        let request = ReservationRequest {
            spender: &self.spender,
            caps: self.caps,
            planned: &planned,
            least: self.max_output,
        };
        let (deps, now) = (&self.deps, clock::now());
        let longer = deps
            .reservations
            .reserve(&deps.store, request, &mut reserved.held, now)
            .await;
        let Ok(longer) = longer else {
            return false;
        };
        *reserved = Reserved {
            input,
            held: Some(longer),
        };
        true
    }
}

impl LastWords {
    /// Reserves a last answer of `turn` to a request with so many results, whatever the budgets say. `None` where no model is
    /// left.
    pub(in crate::agent) async fn reserve(turn: &mut Turn, results: usize) -> Option<Arc<Self>> {
        // At the price of whoever is asked for it.
        let targets = turn.serving();
        let target = targets.first()?.clone();
        let deps = turn.context.deps.clone();
        let meter = &mut turn.transcript.context_meter;
        let used = meter.used(&turn.transcript.items);
        let words = Self {
            spender: turn.context.spender(),
            caps: turn.context.caps(&turn.setup),
            max_output: LEAST_WORDS.min(deps.models.max_output(&targets)),
            price: deps.models.known().catalog().facts(&target).price,
            dense: meter.density(),
            reserved: Mutex::new(Reserved {
                input: used,
                held: None,
            }),
            target,
            deps,
        };
        let input = used + words.real(OF_RESULT * results as u64 + OF_NOTE);
        let reservations = &words.deps.reservations;
        let held = reservations.hold_last_words(&words.spender, &words.planned(input));
        *words.reserved.lock().await = Reserved {
            input,
            held: Some(held),
        };
        Some(Arc::new(words))
    }

    /// Others have worked for `turn`: its next request is made with what was reserved for it.
    pub(in crate::agent) async fn keep(words: Option<Arc<Self>>, turn: &mut Turn) {
        if let Some(words) = words {
            turn.last_words = words.reserved.lock().await.held.take();
        }
    }
}
