//! The part of a model's window that the results of one step's calls share.

use std::sync::Arc;

use parking_lot::Mutex;

/// Tokens up to which a result is always returned whole, however little room is left.
const ALWAYS_WHOLE: u64 = 1_000;

/// What the results of one step's calls may take together, first come, first served. Clones share it.
#[derive(Clone, Debug)]
pub struct ResultRoom(Arc<Mutex<u64>>);

impl ResultRoom {
    /// Room for so many tokens, as [`tokens`](crate::llm::tokens) estimates them.
    pub fn of(tokens: u64) -> Self {
        Self(Arc::new(Mutex::new(tokens)))
    }

    /// Takes so many tokens, if they are left; a small result always fits.
    pub(super) fn takes(&self, tokens: u64) -> bool {
        let mut left = self.0.lock();
        let fits = tokens <= ALWAYS_WHOLE || tokens <= *left;
        if fits {
            *left = left.saturating_sub(tokens);
        }
        fits
    }
}
