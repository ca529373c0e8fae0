//! The effort of judging: every text that is matched on a pattern counts, over all calls of one step.
//!
//! A model writes a command, and may have read it on a web page. It may be long, it may be one of many, and a profile
//! may have hundreds of patterns. Effort is spent only once: when it is used up, no text is built or matched, and the
//! verdict says that judging took too long.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Counts the work of judging the calls of one step. The unit is a byte matched on one pattern.
#[derive(Debug, Default)]
pub struct Effort {
    of_call: AtomicUsize,
    of_step: AtomicUsize,
}

impl Effort {
    /// Effort for one call: a command of 60 KB on thirty patterns, or one of 200 bytes on eight thousand. It takes less
    /// than a tenth of a second of processor time.
    pub const MOST_FOR_A_CALL: usize = 2 << 20;

    /// Effort for all calls of a step.
    pub const MOST_FOR_A_STEP: usize = 4 * Self::MOST_FOR_A_CALL;

    /// The cost of a match in addition to the bytes of its text.
    const EACH: usize = 64;

    /// How many times more a byte costs on a pattern with look-around or back-references.
    const BACKTRACKING: usize = 4;

    /// Begins another call of the step.
    pub(super) fn begin_call(&self) {
        self.of_call.store(0, Relaxed);
    }

    /// Counts a text of `bytes` on one pattern, and returns whether it may be matched.
    pub(super) fn may_match(&self, bytes: usize, backtracks: Backtracks) -> bool {
        if self.is_spent() {
            return false;
        }
        let times = match backtracks {
            Backtracks::Never => 1,
            Backtracks::Perhaps => Self::BACKTRACKING,
        };
        let cost = bytes.saturating_mul(times).saturating_add(Self::EACH);
        for spent in [&self.of_call, &self.of_step] {
            spent.fetch_add(cost, Relaxed);
        }
        !self.is_spent()
    }

    /// Returns whether nothing more is matched for this call.
    pub(super) fn is_spent(&self) -> bool {
        self.of_call.load(Relaxed) > Self::MOST_FOR_A_CALL
            || self.of_step.load(Relaxed) > Self::MOST_FOR_A_STEP
    }

    /// Returns the effort spent on all calls so far.
    pub fn spent(&self) -> usize {
        self.of_step.load(Relaxed)
    }
}

/// Whether the engine of a pattern may try a text in many ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Backtracks {
    Never,
    Perhaps,
}
