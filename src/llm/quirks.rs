//! The differences between a server and its wire format, learned from its refusals: an unknown parameter, one call per
//! message.
//!
//! After a refusal that names a part of the request, the same request is sent once without that part. The catalog
//! remembers it for the target. Refused pictures, windows and tools are recorded elsewhere (`catalog`).

use super::error::{FailureClass, LlmError};

/// One difference between a server and its wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quirk {
    /// Accepts no `max_tokens`, or no limit of output at all.
    NoMaxTokens,
    NoMaxCompletionTokens,
    NoStreamOptions,
    /// Does not stream; the answer comes whole.
    NoStream,
    /// Accepts no parameter for how long to think.
    NoThinking,
    /// Accepts no thoughts of earlier answers.
    NoThoughts,
    /// Requires thoughts with each call, even with calls of other models.
    WantsThoughts,
    /// Requires a signature with each first call, even with calls of other models.
    WantsSignatures,
    NoCacheMarks,
    NoWebSearch,
    /// Accepts no `strict` in a tool.
    NoStrict,
    /// Accepts no `store`.
    NoStore,
    /// Accepts no `include`.
    NoInclude,
    /// Accepts one call per message, not several in parallel.
    SingleCalls,
    /// Accepts no user message directly after a result: an answer must be in between.
    AnswerAfterResults,
    /// Has no role for the system prompt, which is put at the start of the first user message.
    NoSystem,
    /// Accepts only types, names and descriptions in the schemas of tools.
    PlainSchemas,
}

/// A set of quirks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quirks(u32);

impl Quirks {
    pub fn has(self, quirk: Quirk) -> bool {
        self.0 & Self::from(quirk).0 != 0
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the quirks of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the quirks that are in both.
    #[must_use]
    pub const fn common(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the quirks that are not in `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl From<Quirk> for Quirks {
    fn from(quirk: Quirk) -> Self {
        Self(1 << quirk as u32)
    }
}

/// The quirks with a condition that holds.
impl<const N: usize> From<[(Quirk, bool); N]> for Quirks {
    fn from(quirks: [(Quirk, bool); N]) -> Self {
        let holding = quirks.into_iter().filter(|(_, holds)| *holds);
        holding.fold(Self::default(), |all, (quirk, _)| all.and(quirk.into()))
    }
}

/// Names of fields, in lower case and without separators, and the quirk of a server that refuses them.
const FIELDS: [(Quirk, &[&str]); 10] = [
    (Quirk::NoMaxTokens, &["maxtokens", "maxoutputtokens"]),
    (Quirk::NoMaxCompletionTokens, &["maxcompletiontokens"]),
    (Quirk::NoStreamOptions, &["streamoptions", "includeusage"]),
    (
        Quirk::NoThinking,
        &[
            "reasoningeffort",
            "reasoning",
            "effort",
            "thinking",
            "thinkingconfig",
            "thinkinglevel",
            "thinkingbudget",
            "budgettokens",
            "outputconfig",
        ],
    ),
    (
        Quirk::NoThoughts,
        &[
            "reasoningcontent",
            "reasoning",
            "reasoningdetails",
            "extracontent",
        ],
    ),
    (Quirk::NoCacheMarks, &["cachecontrol"]),
    (
        Quirk::NoWebSearch,
        &["websearch", "websearch20250305", "googlesearch"],
    ),
    (Quirk::NoStrict, &["strict"]),
    (Quirk::NoStore, &["store"]),
    (Quirk::NoInclude, &["include", "encryptedcontent"]),
];

/// Words of a server that refuses something that it names.
const REFUSES: [&str; 17] = [
    "unsupported",
    "not support", // does not support, is not supported
    "n't support",
    "unrecognized",
    "unknown",
    "unexpected",
    "extra inputs",
    "extra_forbidden",
    "extra fields",
    "additional propert",
    "not permitted",
    "not allowed",
    "not available",
    "not enabled",
    "invalid",
    "must be",
    "deprecated",
];

/// Words of a server that demands something that it names.
const DEMANDS: [&str; 5] = [
    "missing",
    "must be passed back",
    "is required",
    "must be provided",
    "must include",
];

/// Sentences that name no field.
const SENTENCES: [(Quirk, &[&str]); 7] = [
    (
        Quirk::NoStream,
        &[
            "'stream' does not support",
            "verified to stream", // OpenAI, of the organization
            "streaming is not supported",
            "does not support streaming",
            "stream is not supported",
            "unsupported parameter: 'stream'",
        ],
    ),
    (
        Quirk::AnswerAfterResults,
        &[
            "after role 'tool'",
            "after role tool",
            "roles must alternate",
        ], // Mistral, and templates of its models
    ),
    (
        Quirk::SingleCalls,
        &[
            "single tool-call", // templates of Llama 3
            "single tool call",
            "one tool call at a time",
            "multiple tool calls",
            "parallel tool calls",
        ],
    ),
    (
        Quirk::NoSystem,
        &[
            "system role not supported", // templates of Gemma
            "system role is not supported",
            "does not support 'system'", // OpenAI's o1-mini
            "system messages are not supported",
            "system message is not supported",
            "developer instruction is not enabled", // Gemma behind Gemini's API
            "system instruction is not enabled",
            "system instruction is not supported",
        ],
    ),
    (
        Quirk::WantsSignatures,
        &[
            "missing a thought_signature",
            "missing thought_signature",
            "missing a `thought_signature`",
        ],
    ),
    (Quirk::WantsThoughts, &["reasoning_content"]),
    (
        Quirk::PlainSchemas,
        &[
            "invalid schema for function", // OpenAI
            "invalid function schema",
            "invalid tool schema",
            "invalid json schema",
            "json schema is invalid",        // Anthropic
            "json schema conversion failed", // llama.cpp
            "failed to parse grammar",       // llama.cpp
            "function_declarations[",        // Gemini
        ],
    ),
];

/// Returns the quirks that `error` reports, among those that would change the request. Empty if it is not a refusal of
/// a part.
pub(super) fn told_by(error: &LlmError, possible: Quirks) -> Quirks {
    let is_refusal = matches!(error.status, Some(400 | 422 | 500 | 501))
        && matches!(
            error.class,
            FailureClass::ModelError | FailureClass::ServerError
        );
    if !is_refusal {
        return Quirks::default();
    }
    let sentence = error.message.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| sentence.contains(word));
    let demands = says(&DEMANDS);
    let in_words = SENTENCES
        .iter()
        .filter(|(quirk, words)| (demands || *quirk != Quirk::WantsThoughts) && says(words));
    let mut told = Quirks::default();
    for (quirk, _) in in_words {
        told = told.and((*quirk).into());
    }
    // An error 500 names many things that it is not about.
    if !demands && error.status != Some(500) && says(&REFUSES) {
        let named = names_in(&sentence);
        let fields = FIELDS.iter().filter(|(_, fields)| {
            fields
                .iter()
                .any(|field| named.iter().any(|name| name == field))
        });
        for (quirk, _) in fields {
            told = told.and((*quirk).into());
        }
    }
    told.common(possible)
}

/// Returns the words of `sentence` in the form of field names: `max_tokens` and `maxTokens` are the same.
fn names_in(sentence: &str) -> Vec<String> {
    let words = sentence.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
    words.map(|word| word.replace('_', "")).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const ALL: Quirks = Quirks(u32::MAX);

    fn told(message: &str) -> Quirks {
        let error = LlmError {
            class: FailureClass::ModelError,
            provider: "p".to_owned(),
            message: message.to_owned(),
            status: Some(400),
            retry_after: None,
            request_id: None,
            usage: None,
        };
        told_by(&error, ALL)
    }

    #[test]
    fn a_refusal_that_names_a_part_tells_of_a_quirk() {
        for (message, quirk) in [
            (
                "Unrecognized request argument supplied: stream_options",
                Quirk::NoStreamOptions,
            ),
            (
                "body.stream_options: Extra inputs are not permitted",
                Quirk::NoStreamOptions,
            ),
            (
                "Model grok-4 does not support parameter reasoningEffort.",
                Quirk::NoThinking,
            ),
            (
                "Unsupported value: 'stream' does not support true with this model.",
                Quirk::NoStream,
            ),
            (
                "property 'reasoning_content' is unsupported",
                Quirk::NoThoughts,
            ),
            (
                "messages.1.content.0.text.cache_control: Extra inputs are not permitted",
                Quirk::NoCacheMarks,
            ),
            (
                "This model only supports single tool-calls at once!",
                Quirk::SingleCalls,
            ),
            (
                "Unexpected role 'user' after role 'tool'",
                Quirk::AnswerAfterResults,
            ),
            (
                "Jinja Exception: System role not supported",
                Quirk::NoSystem,
            ),
            (
                "Developer instruction is not enabled for models/gemma-3-27b-it",
                Quirk::NoSystem,
            ),
            (
                "Function call is missing a thought_signature in functionCall parts.",
                Quirk::WantsSignatures,
            ),
            (
                "The reasoning_content in the thinking mode must be passed back to the API.",
                Quirk::WantsThoughts,
            ),
            (
                "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
                Quirk::WantsThoughts,
            ),
            (
                "Invalid schema for function 'view': In context=('properties','path'), 'minLength' is not permitted",
                Quirk::PlainSchemas,
            ),
            (
                "Thinking level is not supported for this model.",
                Quirk::NoThinking,
            ),
            (
                "adaptive thinking is not supported on this model",
                Quirk::NoThinking,
            ),
        ] {
            assert!(told(message).has(quirk), "{message}: {:?}", told(message));
        }
    }

    #[test]
    fn a_refusal_of_something_else_tells_of_none() {
        for message in [
            "The blue cat cannot carry this.",
            "The model `gpt-9` does not exist",
            "stored nothing, unknown error",
            "max_tokens is fine",
        ] {
            assert!(told(message).is_empty(), "{message}: {:?}", told(message));
        }
        let demand = told("reasoning_content is missing");
        assert!(!demand.has(Quirk::NoThoughts), "{demand:?}");
    }
}
