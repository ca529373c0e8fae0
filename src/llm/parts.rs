//! Helpers for all wire formats to write a conversation.

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::error::{FailureClass, LlmError};
use super::local::Reach;
use super::provider::{Encoded, Request};
use super::quirks::Quirks;
use crate::domain::{Assistant, CallId, Image, ToolCall, UserText};

/// Replaces a picture that the model cannot see.
pub(super) const UNSEEN_IMAGE: &str = "[a picture that this model cannot see]";

/// Returns a person's message: first the pictures, then the words, if there are any.
pub(super) fn said<'a, T>(
    user: &'a UserText,
    picture: impl Fn(&'a Image) -> T,
    words: impl FnOnce(String) -> T,
) -> Vec<T> {
    let said = user.for_model();
    let has_words = !said.trim().is_empty();
    let pictures = user.images.iter().map(picture);
    pictures.chain(has_words.then(|| words(said))).collect()
}

/// One block of an earlier answer, as it is sent back.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part<'a> {
    /// A block of this format, byte for byte.
    Opaque(&'a Value),
    Text(&'a str),
    Call(&'a ToolCall),
}

/// Returns the blocks of `answer` in the order `format` sent them.
///
/// Blocks of another format or another model are left out, because they would be refused, and so are blocks that were
/// refused before. `shows_text` returns whether a block itself contains the answer's text; `trails` whether a block
/// must not come last, without the blocks after it.
pub(super) fn in_order<'a>(
    answer: &'a Assistant,
    format: &str,
    request: &Request,
    shows_text: fn(&Value) -> bool,
    trails: fn(&Value) -> bool,
) -> Vec<Part<'a>> {
    let own_model = answer
        .model
        .as_deref()
        .is_none_or(|made_by| made_by == request.model);
    let mut opaque: Vec<_> = answer
        .opaque
        .iter()
        .filter(|block| own_model && block.format == format)
        .filter(|block| !request.refused.has_block(&block.block))
        .collect();
    opaque.sort_by_key(|block| block.index);
    let has_text =
        !answer.text.trim().is_empty() && !opaque.iter().any(|block| shows_text(&block.block));
    let text = has_text.then_some(Part::Text(&answer.text));
    let mut others = text
        .into_iter()
        .chain(answer.tool_calls.iter().map(Part::Call));
    let mut parts: Vec<Part<'a>> = Vec::new();
    for block in opaque {
        while parts.len() < block.index {
            let Some(other) = others.next() else { break };
            parts.push(other);
        }
        parts.push(Part::Opaque(&block.block));
    }
    parts.extend(others);
    while let Some(Part::Opaque(last)) = parts.last() {
        if !trails(last) {
            break;
        }
        parts.pop();
    }
    parts
}

/// Returns the id of a call in a form that every provider accepts: nine letters or digits, always the same for the same
/// call.
///
/// Mistral refuses any other form, and a conversation may continue at any provider.
pub fn wire_id(id: &CallId) -> String {
    const DIGITS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let hash = Sha256::digest(id.0.as_bytes());
    let digits = hash.iter().take(9);
    digits
        .map(|byte| char::from(DIGITS[usize::from(*byte) % DIGITS.len()]))
        .collect()
}

/// Returns the block's `type`.
pub(super) fn kind(block: &Value) -> &str {
    block
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Returns the picture as a `data:` URL.
pub(super) fn data_url(image: &Image) -> String {
    format!("data:{};base64,{}", image.media_type, image.data)
}

/// Encodes the request as bytes.
pub(super) fn encoded(
    provider: &str,
    format: &'static str,
    model: &str,
    changed_by: Quirks,
    body: &impl Serialize,
) -> Result<Encoded, LlmError> {
    match serde_json::to_vec(body) {
        Ok(body) => Ok(Encoded {
            // As small as possible, because it is kept until the answer comes.
            body: body.into_boxed_slice().into(),
            model: model.to_owned(),
            format,
            changed_by,
            reach: Reach::Anywhere,
        }),
        Err(error) => Err(inexpressible(provider, error.to_string())),
    }
}

/// Creates the error for a request that its format cannot express.
pub(super) fn inexpressible(provider: &str, why: impl Into<String>) -> LlmError {
    LlmError {
        class: FailureClass::InvalidRequest,
        provider: provider.to_owned(),
        message: why.into(),
        status: None,
        retry_after: None,
        request_id: None,
        usage: None,
    }
}

/// Returns whether OpenAI's `model` thinks before it answers; such models need other parameters.
pub(super) fn is_openai_reasoning(model: &str) -> bool {
    let model = model.rsplit('/').next().unwrap_or(model);
    ["o1", "o3", "o4", "gpt-5", "gpt-6"]
        .iter()
        .any(|family| model.starts_with(family))
}
