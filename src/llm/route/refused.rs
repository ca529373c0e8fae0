//! Learns from a refusal, so that the same request can be sent again without the refused part.
//!
//! Known wordings are learned for good. After a refusal in unknown words the request is sent once without pictures and
//! without blocks of earlier answers. Only if that succeeds do they count as refused.

use super::{Router, StepRequest};
use crate::domain::Item;
use crate::llm::error::{FailureClass, LlmError};
use crate::llm::failure::{self, About};
use crate::llm::pictures;
use crate::llm::provider::{ContentHash, hash_of_block, hash_of_picture};
use crate::llm::quirks::{self, Quirks};
use crate::llm::target::Target;
use crate::llm::tokens;

/// Pictures with fewer bytes in total are not the reason for a body that is too large.
const FEW_BYTES: usize = 64 << 10;

/// A request that its server refused.
pub(super) struct Refused<'a> {
    pub(super) target: &'a Target,
    pub(super) step: &'a StepRequest,
    /// The quirks that would change the request.
    pub(super) changed_by: Quirks,
    /// How many further attempts the step has.
    pub(super) attempts_left: u32,
}

/// Returns whether the server refuses the request itself: it may accept another one. An event of a stream has no
/// status.
fn is_of_request(error: &LlmError) -> bool {
    matches!(error.status, None | Some(400 | 403 | 413 | 415 | 422 | 500))
        && matches!(
            error.class,
            FailureClass::ModelError | FailureClass::ServerError
        )
}

impl Refused<'_> {
    fn pictures(&self) -> impl Iterator<Item = ContentHash> {
        pictures::all(&self.step.items).map(hash_of_picture)
    }

    fn blocks(&self) -> impl Iterator<Item = ContentHash> {
        let answers = self.step.items.iter().filter_map(|item| match item {
            Item::Assistant(answer) => Some(answer),
            Item::User(_) | Item::ToolResult(_) => None,
        });
        answers
            .flat_map(|answer| &answer.opaque)
            .map(|opaque| hash_of_block(&opaque.block))
    }
}

/// Content that is left out once, to see whether the request is accepted without it.
#[derive(Default)]
pub(super) struct Trial {
    /// Whether there was a trial in this step.
    was_made: bool,
    running: Option<(String, Vec<ContentHash>)>,
}

impl Router {
    /// Learns from a refusal. Returns `error` in its corrected sense, and whether the request can be sent again in
    /// another form.
    pub(super) fn repaired(
        &self,
        error: LlmError,
        request: &Refused<'_>,
        trial: &mut Trial,
    ) -> (LlmError, bool) {
        self.ends_trial(trial);
        if self.learns(request, &error) {
            return (error, true);
        }
        let error = self.reconsidered(error, request);
        if error.class == FailureClass::ContextExceeded
            && let Some(window) = failure::window_in(&error.message)
        {
            self.catalog.learn_window(request.target, window);
        }
        let is_tried = self.tries_without(request, &error, trial);
        (error, is_tried)
    }

    /// Records which part of the request its server refuses. Returns whether the request can be sent again without it.
    fn learns(&self, request: &Refused<'_>, error: &LlmError) -> bool {
        let Refused { target, step, .. } = request;
        let message = &error.message;
        if !step.tools.is_empty() && About::NoTools.is_in(message) {
            return self.catalog.learn_no_tools(target);
        }
        if error.status == Some(413) && self.learns_size_of_pictures(request, message) {
            return true;
        }
        // OpenRouter has no endpoint for such a request.
        let is_without_endpoint = error.status == Some(404) && About::NoPictures.is_in(message);
        if !is_of_request(error) && !is_without_endpoint {
            return false;
        }
        let limit = failure::output_limit_in(message);
        if limit.is_some_and(|tokens| self.catalog.learn_max_output(target, tokens)) {
            return true;
        }
        if About::Thoughts.is_in(message) && self.learns_refused(request, request.blocks()) {
            return true;
        }
        let quirks = quirks::told_by(error, request.changed_by);
        self.learns_about_pictures(request, message) || self.catalog.learn_quirks(target, quirks)
    }

    fn learns_about_pictures(&self, request: &Refused<'_>, message: &str) -> bool {
        let target = request.target;
        let count = pictures::all(&request.step.items).count();
        let about_pictures = count > 0 && About::Pictures.is_in(message);
        if !about_pictures || !self.catalog.facts(target).images {
            return false;
        }
        if About::NoPictures.is_in(message) {
            return self.catalog.learn_no_images(target);
        }
        if let Some(most) = failure::most_pictures_in(message)
            && most < count
        {
            return self.catalog.learn_pictures(target, most);
        }
        self.learns_refused(request, request.pictures())
    }

    /// Learns from a body that is too large for the server, possibly because of its pictures: most of them are left
    /// out.
    fn learns_size_of_pictures(&self, request: &Refused<'_>, message: &str) -> bool {
        if About::Length.is_in(message) || failure::window_in(message).is_some() {
            return false;
        }
        let facts = self.catalog.facts(request.target);
        let sizes = pictures::all(&request.step.items).map(|picture| picture.data.len());
        let sent = sizes.sum::<usize>();
        let sent = facts.picture_bytes.map_or(sent, |most| most.min(sent));
        facts.images
            && sent > FEW_BYTES
            && self.catalog.learn_picture_bytes(request.target, sent / 4)
    }

    fn learns_refused(
        &self,
        request: &Refused<'_>,
        content: impl Iterator<Item = ContentHash>,
    ) -> bool {
        let provider = &request.target.provider;
        !self.catalog.learn_refused(provider, content).is_empty()
    }

    /// Leaves out pictures and blocks of earlier answers once, if the server refuses a request in words that name
    /// nothing known. Returns whether there are any. An error of the server may be temporary, so its last attempt must
    /// have failed first.
    fn tries_without(&self, request: &Refused<'_>, error: &LlmError, trial: &mut Trial) -> bool {
        let is_unknown = match error.class {
            FailureClass::ModelError => {
                matches!(error.status, None | Some(400 | 403 | 422))
                    && !About::NoModel.is_in(&error.message)
            }
            FailureClass::ServerError => error.status == Some(500) && request.attempts_left == 0,
            _ => false,
        };
        if !is_unknown || std::mem::replace(&mut trial.was_made, true) {
            return false;
        }
        let provider = &request.target.provider;
        let content = request.pictures().chain(request.blocks());
        let content = self.catalog.learn_refused(provider, content);
        let is_any = !content.is_empty();
        trial.running = is_any.then(|| (provider.clone(), content));
        is_any
    }

    /// Restores the content that a trial left out: the request without it was refused too.
    fn ends_trial(&self, trial: &mut Trial) {
        if let Some((provider, content)) = trial.running.take() {
            self.catalog.forget_refused(&provider, &content);
        }
    }

    /// Returns `error` as one about length, if a server refuses a long request in words that name no other cause.
    fn reconsidered(&self, error: LlmError, request: &Refused<'_>) -> LlmError {
        let Refused { target, step, .. } = request;
        let facts = self.catalog.facts(target);
        // A server's count may be far too small.
        let estimated = tokens::of_fixed(&step.system, &step.tools) + tokens::of_items(&step.items);
        let is_long = step.used_tokens.max(estimated) > facts.window / 2;
        let has_pictures = facts.images && pictures::all(&step.items).next().is_some();
        let about_pictures = has_pictures && About::Pictures.is_in(&error.message);
        if !is_long || about_pictures || !failure::may_be_length(&error) {
            return error;
        }
        LlmError {
            class: FailureClass::ContextExceeded,
            ..error
        }
    }
}
