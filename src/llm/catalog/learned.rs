//! Facts about models and their servers, learned from refusals. They are valid until the next start.

use std::collections::HashMap;
use std::sync::Arc;

use crate::llm::provider::{ContentHash, RefusedContent};
use crate::llm::quirks::Quirks;
use crate::llm::target::Target;

#[derive(Debug, Default)]
pub(super) struct Learned {
    targets: HashMap<Target, OfTarget>,
    /// Content that the provider of this name refused.
    refused: HashMap<String, Arc<RefusedContent>>,
}

/// The facts about one model at one server.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OfTarget {
    pub(super) window: Option<LearnedWindow>,
    pub(super) max_output: Option<u32>,
    /// Its server refused a request because of the tools in it.
    pub(super) no_tools: bool,
    /// Its server accepts no pictures.
    pub(super) no_images: bool,
    /// Most pictures in a request.
    pub(super) pictures: Option<usize>,
    /// Most bytes of all pictures in a request, as Base64.
    pub(super) picture_bytes: Option<usize>,
    pub(super) quirks: Quirks,
}

/// A window that a server named when it refused a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LearnedWindow {
    pub(super) tokens: u64,
    /// Whether it was named again after it had been discarded.
    confirmed: bool,
    /// Answered requests since it was named.
    answers: u32,
}

/// After so many answers a window that was named only once is discarded: another server behind the same address may
/// have named it, or the same one in an hour with many users.
const ANSWERS: u32 = 200;

impl LearnedWindow {
    pub(super) fn believed(self) -> Option<u64> {
        (self.confirmed || self.answers < ANSWERS).then_some(self.tokens)
    }
}

impl Learned {
    pub(super) fn of(&self, target: &Target) -> OfTarget {
        self.targets.get(target).copied().unwrap_or_default()
    }

    pub(super) fn change(&mut self, target: &Target) -> &mut OfTarget {
        self.targets.entry(target.clone()).or_default()
    }

    pub(super) fn refused(&self, provider: &str) -> Arc<RefusedContent> {
        self.refused.get(provider).cloned().unwrap_or_default()
    }

    pub(super) fn add_refused(
        &mut self,
        provider: &str,
        content: impl Iterator<Item = ContentHash>,
    ) -> Vec<ContentHash> {
        let refused = self.refused.entry(provider.to_owned()).or_default();
        Arc::make_mut(refused).add(content)
    }

    pub(super) fn remove_refused(&mut self, provider: &str, content: &[ContentHash]) {
        if let Some(refused) = self.refused.get_mut(provider) {
            Arc::make_mut(refused).remove(content);
        }
    }
}

impl OfTarget {
    /// Records a window that a refusal named.
    pub(super) fn names_window(&mut self, tokens: u64) {
        let is_again = self.window.is_some_and(|known| known.believed().is_none());
        self.window = Some(LearnedWindow {
            tokens,
            confirmed: is_again,
            answers: 0,
        });
    }

    /// Records that a request of `tokens` was answered. A request larger than the window disproves it.
    pub(super) fn was_answered(&mut self, tokens: u64) {
        let Some(window) = &mut self.window else {
            return;
        };
        if tokens > window.tokens {
            self.window = None;
        } else {
            window.answers = window.answers.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn believed(known: OfTarget) -> Option<u64> {
        known.window.and_then(LearnedWindow::believed)
    }

    fn answers(known: &mut OfTarget, count: u32) {
        for _ in 0..count {
            known.was_answered(2_000);
        }
    }

    #[test]
    fn a_window_named_once_relaxes_after_many_answers() {
        let mut known = OfTarget::default();
        known.names_window(8_192);
        answers(&mut known, ANSWERS - 1);
        assert_eq!(believed(known), Some(8_192));
        answers(&mut known, 1);
        assert_eq!(believed(known), None);
    }

    #[test]
    fn a_window_named_again_holds_until_a_larger_request_is_answered() {
        let mut known = OfTarget::default();
        known.names_window(8_192);
        answers(&mut known, ANSWERS);
        known.names_window(8_192);
        answers(&mut known, ANSWERS * 2);
        assert_eq!(believed(known), Some(8_192));
        known.was_answered(9_000);
        assert_eq!(believed(known), None);
    }

    #[test]
    fn two_refusals_in_a_row_are_no_confirmation() {
        let mut known = OfTarget::default();
        known.names_window(8_192);
        known.names_window(4_096);
        answers(&mut known, ANSWERS);
        assert_eq!(believed(known), None);
    }
}
