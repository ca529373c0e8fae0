//! Updates the catalog from refusals and answers. Each method returns whether the fact is new.

use std::sync::Arc;

use super::{Catalog, MIN_WINDOW};
use crate::llm::provider::{ContentHash, RefusedContent};
use crate::llm::quirks::Quirks;
use crate::llm::target::Target;

/// Fewest output tokens that are believed as a limit.
const MIN_OUTPUT: u32 = 16;

impl Catalog {
    /// Records the window that the provider of `target` named in its refusal, if it is smaller than the known one.
    pub fn learn_window(&self, target: &Target, window: u64) {
        if window >= MIN_WINDOW && window < self.facts(target).window {
            self.learned.write().change(target).names_window(window);
        }
    }

    /// Records that `target` answered a request of `tokens`.
    pub fn was_answered(&self, target: &Target, tokens: u64) {
        if self.learned.read().of(target).window.is_some() {
            self.learned.write().change(target).was_answered(tokens);
        }
    }

    /// Records the most output tokens that the server of `target` accepts.
    pub fn learn_max_output(&self, target: &Target, tokens: u32) -> bool {
        let is_new = tokens >= MIN_OUTPUT && tokens < self.facts(target).max_output;
        if is_new {
            self.learned.write().change(target).max_output = Some(tokens);
        }
        is_new
    }

    /// Records that the server of `target` refuses tools.
    pub fn learn_no_tools(&self, target: &Target) -> bool {
        let mut learned = self.learned.write();
        !std::mem::replace(&mut learned.change(target).no_tools, true)
    }

    /// Records that the server of `target` accepts no pictures.
    pub fn learn_no_images(&self, target: &Target) -> bool {
        let mut learned = self.learned.write();
        !std::mem::replace(&mut learned.change(target).no_images, true)
    }

    /// Records how many pictures the server of `target` accepts in a request.
    pub fn learn_pictures(&self, target: &Target, most: usize) -> bool {
        let mut learned = self.learned.write();
        let known = &mut learned.change(target).pictures;
        let is_new = known.is_none_or(|known| most < known);
        if is_new {
            *known = Some(most);
        }
        is_new
    }

    /// Records how many bytes of pictures the server of `target` accepts in a request.
    pub fn learn_picture_bytes(&self, target: &Target, most: usize) -> bool {
        let mut learned = self.learned.write();
        let known = &mut learned.change(target).picture_bytes;
        let is_new = known.is_none_or(|known| most < known);
        if is_new {
            *known = Some(most);
        }
        is_new
    }

    /// Records how the server of `target` differs from its format.
    pub fn learn_quirks(&self, target: &Target, quirks: Quirks) -> bool {
        let mut learned = self.learned.write();
        let known = &mut learned.change(target).quirks;
        let is_new = !quirks.without(*known).is_empty();
        *known = known.and(quirks);
        is_new
    }

    /// Records that `provider` refused this content. Returns the new part of it.
    pub(in crate::llm) fn learn_refused(
        &self,
        provider: &str,
        content: impl Iterator<Item = ContentHash>,
    ) -> Vec<ContentHash> {
        self.learned.write().add_refused(provider, content)
    }

    /// Forgets that `provider` refused this content.
    pub(in crate::llm) fn forget_refused(&self, provider: &str, content: &[ContentHash]) {
        self.learned.write().remove_refused(provider, content);
    }

    /// Returns the content that `provider` refused.
    pub fn refused(&self, provider: &str) -> Arc<RefusedContent> {
        self.learned.read().refused(provider)
    }
}
