//! The bodies of one step: one for each target.

use std::sync::Arc;

use super::{StepRequest, Unseen};
use crate::llm::catalog::ModelFacts;
use crate::llm::error::LlmError;
use crate::llm::provider::{Encoded, Provider, RefusedContent, Request};
use crate::llm::quirks::{Quirk, Quirks};
use crate::llm::target::Target;
use crate::llm::{pictures, schemas, text_calls};
use crate::text::long;

/// Bytes of a request per token, as [`tokens`](crate::llm::tokens) estimates them.
const BYTES_OF_A_TOKEN: u64 = 4;

/// The facts about a target when its request is built.
pub(super) struct Known<'a> {
    pub(super) facts: &'a ModelFacts,
    pub(super) refused: Arc<RefusedContent>,
}

/// The bodies of one step.
///
/// Built once, not for each attempt, unless a budget leaves less for an attempt than for the previous one.
#[derive(Default)]
pub(super) struct Bodies {
    built: Vec<Body>,
    /// How many pictures the first body for each target left out.
    unseen_at_first: Vec<(Target, usize)>,
}

/// The body for one target.
struct Body {
    target: Target,
    /// The most tokens that the answer may have.
    max_output: u32,
    encoded: Encoded,
    /// How many pictures of the conversation are not in it.
    unseen: usize,
}

impl Bodies {
    pub(super) fn body(
        &mut self,
        provider: &dyn Provider,
        target: &Target,
        step: &StepRequest,
        known: Known<'_>,
        max_output: u32,
    ) -> Result<Encoded, LlmError> {
        if let Some(body) = self.built_for(target)
            && body.max_output <= max_output
        {
            return Ok(body.encoded.clone());
        }
        let request = request(provider, target, step, known, max_output);
        let bytes = usize::try_from(step.used_tokens * BYTES_OF_A_TOKEN).unwrap_or(usize::MAX);
        let mut encoded = long::work_on(bytes, || provider.encode(&request))?;
        let may_be_plainer = !request.tools.is_empty() && !request.quirks.has(Quirk::PlainSchemas);
        encoded.changed_by = encoded
            .changed_by
            .and(Quirks::from([(Quirk::PlainSchemas, may_be_plainer)]));
        encoded.reach = step.reach;
        let unseen = pictures::all(&step.items)
            .count()
            .saturating_sub(request.pictures_sent());
        if !self.unseen_at_first.iter().any(|(of, _)| of == target) {
            self.unseen_at_first.push((target.clone(), unseen));
        }
        self.forget(target);
        self.built.push(Body {
            target: target.clone(),
            max_output,
            encoded: encoded.clone(),
            unseen,
        });
        Ok(encoded)
    }

    pub(super) fn forget(&mut self, target: &Target) {
        self.built.retain(|body| body.target != *target);
    }

    /// Returns the quirks that would change the body for `target`.
    pub(super) fn changed_by(&self, target: &Target) -> Quirks {
        let body = self.built_for(target);
        body.map_or(Quirks::default(), |body| body.encoded.changed_by)
    }

    /// Returns the pictures that the body for `target` leaves out.
    pub(super) fn unseen(&self, target: &Target) -> Unseen {
        let pictures = self.built_for(target).map_or(0, |body| body.unseen);
        let at_first = self.unseen_at_first.iter().find(|(of, _)| of == target);
        let at_first = at_first.map_or(0, |(_, unseen)| *unseen);
        Unseen {
            pictures,
            newly: pictures.saturating_sub(at_first),
        }
    }

    fn built_for(&self, target: &Target) -> Option<&Body> {
        self.built.iter().find(|body| body.target == *target)
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
    let tools = if facts.quirks.has(Quirk::PlainSchemas) {
        Arc::new(schemas::plain(&step.tools))
    } else {
        Arc::clone(&step.tools)
    };
    let request = Request {
        model: target.model.clone(),
        system: step.system.clone(),
        items,
        tools,
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
