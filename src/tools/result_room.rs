//! The room for the results of one step's calls in the request after them: a part of the model's window, and the money
//! left for it.

use std::sync::Arc;

use parking_lot::Mutex;

use super::ports::NextRequest;

/// Tokens up to which a result is always returned whole, however little room is left.
const ALWAYS_WHOLE: u64 = 1_000;

/// The room that the results of one step's calls share, first come, first served. Clones share it.
#[derive(Clone, Debug)]
pub struct ResultRoom {
    left: Arc<Mutex<u64>>,
    /// The request that is paid for while others spend; `None` if no others do.
    next: Option<Arc<dyn NextRequest>>,
}

impl ResultRoom {
    /// Creates room for this many tokens, as [`tokens`](crate::llm::tokens) estimates them, as far as the money for
    /// `next` is enough.
    pub fn of(tokens: u64, next: Option<Arc<dyn NextRequest>>) -> Self {
        Self {
            left: Arc::new(Mutex::new(tokens)),
            next,
        }
    }

    /// Takes this many tokens, if that many are left; a small result always fits.
    pub(super) async fn takes(&self, tokens: u64) -> bool {
        let Some(taken) = self.take(tokens) else {
            return false;
        };
        let is_paid = match &self.next {
            Some(next) => next.pays_for(tokens).await,
            None => true,
        };
        if !is_paid {
            *self.left.lock() += taken;
        }
        is_paid
    }

    fn take(&self, tokens: u64) -> Option<u64> {
        let mut left = self.left.lock();
        let taken = tokens.min(*left);
        let fits = tokens <= ALWAYS_WHOLE || tokens == taken;
        fits.then(|| {
            *left -= taken;
            taken
        })
    }
}
