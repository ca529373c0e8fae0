//! How much of the window a conversation takes: one number, estimated, and corrected by what providers count.

use crate::domain::{Item, Usage};
use crate::llm::history::{self, Measured};
use crate::llm::tokens;
use crate::text::long;

/// Most real tokens that one estimated token is taken for: a script that is not Latin has one or two a character.
const MAX_SCALE: f64 = 8.0;
/// The same for system prompt and tools, which are mostly in English.
const MAX_FIXED: f64 = 1.5;
/// Fewest estimated tokens to learn from: with a few words, the frame of the message is the larger part.
const SAMPLE: u64 = 100;
/// How much of the densest text's ratio is left after each further count.
const FADES: f64 = 0.98;
/// How much more an estimate counts after a provider found the request too long in spite of it.
const REFUSED_SCALE: f64 = 1.25;

/// What is known of a conversation's size; it goes from turn to turn with it.
#[derive(Clone, Copy, Debug)]
pub(in crate::agent) struct Calibration {
    /// The count by the provider of the latest answer.
    measured: Option<Measured>,
    /// Real tokens for each estimated one, over a whole request; never less than one.
    scale: f64,
    /// The same for the newest items: a file in another script differs from a system prompt.
    densest: f64,
    /// Estimate of system prompt and tools; 0 before the first.
    fixed: u64,
}

impl Default for Calibration {
    fn default() -> Self {
        Self {
            measured: None,
            scale: 1.0,
            densest: 1.0,
            fixed: 0,
        }
    }
}

impl Calibration {
    /// What the provider counted for the latest answer and its request.
    pub(in crate::agent) fn counted(self) -> Option<u64> {
        self.measured.map(|count| count.tokens)
    }

    /// Tokens that the next request with `items` takes.
    pub(in crate::agent) fn size(self, items: &[Item]) -> u64 {
        history::used_tokens(items, self.fixed, self.measured, self.densest)
    }

    /// What a provider would count of system prompt and tools.
    fn counted_fixed(self) -> u64 {
        (self.fixed as f64 * self.scale.min(MAX_FIXED)).ceil() as u64
    }
}

/// The conversation of a turn, measured.
pub(in crate::agent) struct ContextMeter {
    /// Estimate of the conversation, and of how many items: each is counted once.
    estimated: (usize, u64),
    calibration: Calibration,
}

impl ContextMeter {
    /// Begins with what earlier turns learned.
    pub(in crate::agent) fn new(calibration: Calibration) -> Self {
        Self {
            estimated: (0, 0),
            calibration,
        }
    }

    /// Forgets what was counted: the conversation is another one now.
    pub(in crate::agent) fn replaced(&mut self) {
        self.estimated = (0, 0);
        self.calibration.measured = None;
    }

    /// Forgets what a provider counted.
    pub(in crate::agent) fn forget_count(&mut self) {
        self.calibration.measured = None;
    }

    /// Notes the estimate of system prompt and tools.
    pub(in crate::agent) fn set_fixed(&mut self, tokens: u64) {
        self.calibration.fixed = tokens;
    }

    /// What a provider would count of system prompt and tools.
    pub(in crate::agent) fn fixed(&self) -> u64 {
        self.calibration.counted_fixed()
    }

    /// Whether system prompt and tools have been estimated.
    pub(in crate::agent) fn knows_fixed(&self) -> bool {
        self.calibration.fixed != 0
    }

    /// Real tokens for each estimated one, for the newest items.
    pub(in crate::agent) fn density(&self) -> f64 {
        self.calibration.densest
    }

    /// What the next turn of a conversation of `items` items can start from.
    pub(in crate::agent) fn learned_of(&self, items: usize) -> Calibration {
        Calibration {
            // A count that includes a discarded answer does not describe what is there.
            measured: self
                .calibration
                .measured
                .filter(|count| count.items <= items),
            ..self.calibration
        }
    }

    /// Tokens that the next request takes.
    ///
    /// A count of less than half the estimate is not believed: some servers leave out what was in their cache.
    pub(in crate::agent) fn used(&mut self, items: &[Item]) -> u64 {
        let estimated = self.estimated(items);
        let Calibration {
            measured,
            densest,
            fixed,
            ..
        } = self.calibration;
        match measured {
            None => self.calibration.counted_fixed() + (estimated as f64 * densest).ceil() as u64,
            Some(_) => {
                history::used_tokens(items, fixed, measured, densest).max((fixed + estimated) / 2)
            }
        }
    }

    /// Tokens that a request with other items than the conversation's would take, by estimate.
    pub(in crate::agent) fn used_by_others(&self, items: &[Item]) -> u64 {
        let tokens = tokens::of_items(items) as f64 * self.calibration.densest;
        self.calibration.counted_fixed() + tokens.ceil() as u64
    }

    /// The conversation by estimate.
    pub(in crate::agent) fn estimated(&mut self, items: &[Item]) -> u64 {
        let (counted, tokens) = self.estimated;
        let new = &items[counted..];
        let size = new.iter().map(Item::size).sum();
        let tokens = tokens + long::work_on(size, || tokens::of_items(new));
        self.estimated = (items.len(), tokens);
        tokens
    }

    /// Estimated tokens that the conversation may have so that a request fits into `room`.
    pub(in crate::agent) fn budget(&self, room: u64) -> u64 {
        let room = room.saturating_sub(self.calibration.counted_fixed());
        (room as f64 / self.calibration.densest * 0.9) as u64
    }

    /// Records what the provider of a model with `window` tokens counted for the request that it just answered.
    pub(in crate::agent) fn counted(&mut self, items: &[Item], usage: Usage, window: u64) {
        if usage.input_total() > window {
            // Such a count includes the provider's own searches, or is nonsense: neither fits into the window.
            self.calibration.measured = None;
            return;
        }
        let input = usage.input_total();
        let whole = self.calibration.fixed + self.estimated(items);
        let scale = times(input, whole);
        let newest = self.newest(items, input).unwrap_or(scale);
        let faded = self.calibration.densest * FADES;
        self.calibration.scale = scale;
        self.calibration.densest = scale.max(newest).max(faded);
        self.calibration.measured = Some(Measured {
            items: items.len() + 1,
            tokens: input.saturating_add(usage.output),
        });
    }

    /// Records that a provider found the request too long for `room`, whatever was counted.
    pub(in crate::agent) fn refused(&mut self, items: &[Item], room: u64) {
        let full = room as f64 / self.used(items).max(1) as f64;
        let scale = self.calibration.scale * full.max(REFUSED_SCALE);
        self.calibration.scale = scale.min(MAX_SCALE);
        // What was added since the last count took at least what was left of the room.
        let newest = self.newest(items, room).unwrap_or(1.0);
        let calibration = &mut self.calibration;
        calibration.densest = calibration.densest.max(calibration.scale).max(newest);
        self.calibration.measured = None;
    }

    /// Real tokens for each estimated one of what was added since the count before; `input` is the count now.
    fn newest(&self, items: &[Item], input: u64) -> Option<f64> {
        let before = self.calibration.measured?;
        let estimate = tokens::of_items(items.get(before.items..)?);
        let counted = input.checked_sub(before.tokens)?;
        (estimate >= SAMPLE).then(|| times(counted, estimate))
    }
}

/// `counted` divided by `estimate`, within plausible bounds.
fn times(counted: u64, estimate: u64) -> f64 {
    (counted as f64 / estimate.max(1) as f64).clamp(1.0, MAX_SCALE)
}
