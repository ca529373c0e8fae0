//! The bodies of one step: one for each target.

use std::sync::Arc;

use super::StepRequest;
use crate::llm::catalog::ModelFacts;
use crate::llm::error::LlmError;
use crate::llm::provider::{Encoded, Provider, RefusedContent, Request};
use crate::llm::quirks::Quirks;
use crate::llm::target::Target;
use crate::llm::{pictures, text_calls};
use crate::text::long;

/// Bytes of a request for each token, as [`tokens`](crate::llm::tokens) estimates them.
const BYTES_OF_A_TOKEN: u64 = 4;

/// What is known of a target when its request is built.
pub(super) struct Known<'a> {
    pub(super) facts: &'a ModelFacts,
    pub(super) refused: Arc<RefusedContent>,
}

/// The bodies of one step, with the most tokens that each answer may have.
///
/// Built once, not for each attempt, unless a budget leaves less for an attempt than for the one before.
#[derive(Default)]
pub(super) struct Bodies(Vec<(Target, u32, Encoded)>);

impl Bodies {
    pub(super) fn body(
        &mut self,
        provider: &dyn Provider,
        target: &Target,
        step: &StepRequest,
        known: Known<'_>,
        max_output: u32,
    ) -> Result<Encoded, LlmError> {
        let before = self.0.iter().find(|(of, ..)| of == target);
        if let Some((_, most, body)) = before
            && *most <= max_output
        {
            return Ok(body.clone());
        }
        let request = request(provider, target, step, known, max_output);
        let bytes = usize::try_from(step.used_tokens * BYTES_OF_A_TOKEN).unwrap_or(usize::MAX);
        let body = long::work_on(bytes, || provider.encode(&request))?;
        self.forget(target);
        self.0.push((target.clone(), max_output, body.clone()));
        Ok(body)
    }

    pub(super) fn forget(&mut self, target: &Target) {
        self.0.retain(|(of, ..)| of != target);
    }

    /// The quirks that would change the body for `target`.
    pub(super) fn changed_by(&self, target: &Target) -> Quirks {
        let body = self.0.iter().find(|(of, ..)| of == target);
        body.map_or(Quirks::default(), |(.., body)| body.changed_by)
    }
}

fn request(
    provider: &dyn Provider,
    target: &Target,
    step: &StepRequest,
    known: Known<'_>,
    max_output: u32,
) -> Request {
    let Known { facts, refused } = known;
    let bounds = provider
        .picture_bounds()
        .at_most(facts.pictures, facts.picture_bytes);
    let items = if facts.images {
        pictures::within(&step.items, bounds)
    } else {
        Arc::clone(&step.items)
    };
    let request = Request {
        model: target.model.clone(),
        system: step.system.clone(),
        items,
        tools: Arc::clone(&step.tools),
        max_output_tokens: max_output,
        web_search: step.web_search && facts.web_search,
        sees_images: facts.images,
        refused,
        quirks: facts.quirks,
        thinking: step.effort.filter(|_| facts.thinking).or(facts.effort),
    };
    if facts.tools {
        request
    } else {
        text_calls::written_out(request)
    }
}
