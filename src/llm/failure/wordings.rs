//! The words of servers' refusals, as a table of sentences and kinds with their meaning.
//!
//! Add a wording here when you meet a server that has its own. Everything is compared in lower case.

/// The subject of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::llm) enum About {
    /// The request is longer than the window.
    Length,
    /// A limit of money or use is exhausted.
    Spent,
    /// The account has no credit.
    NoCredit,
    BadKey,
    /// A picture in the request, or pictures in general.
    Pictures,
    /// The model or its server accepts no pictures at all.
    NoPictures,
    /// The model, or the way its server was started, has no support for tools.
    NoTools,
    /// Thoughts or signatures of earlier answers.
    Thoughts,
    /// A model that the server does not have.
    NoModel,
    /// Content that moderation rejected.
    Flagged,
    /// A cause other than the length.
    OtherThanLength,
}

impl About {
    /// Returns whether `sentence`, or the provider's words for the kind, say so.
    pub(super) fn is_said(self, sentence: &str, kinds: &str) -> bool {
        contains_any(kinds, self.kinds()) || self.is_in(sentence)
    }

    /// Returns whether `sentence` says so.
    pub(in crate::llm) fn is_in(self, sentence: &str) -> bool {
        contains_any(&sentence.to_lowercase(), self.sentences())
    }

    /// Returns the words of the fields `type`, `code` and `status`.
    const fn kinds(self) -> &'static [&'static str] {
        match self {
            Self::Length => &[
                "context_length_exceeded",
                "exceed_context_size",
                "context_window_exceeded",
            ],
            Self::Spent => &["insufficient_quota", "spend_limit", "billing"],
            Self::NoCredit => &["billing", "insufficient_quota", "payment"],
            Self::BadKey => &["api_key_invalid", "invalid_api_key", "authentication"],
            Self::Pictures
            | Self::NoPictures
            | Self::NoTools
            | Self::Thoughts
            | Self::NoModel
            | Self::Flagged
            | Self::OtherThanLength => &[],
        }
    }

    const fn sentences(self) -> &'static [&'static str] {
        match self {
            Self::Length => LENGTH,
            Self::Spent => &["spend", "quota", "billing", "credit", "usage limit"],
            Self::NoCredit => &[
                "credit balance",
                "insufficient credit",
                "out of credit",
                "billing",
            ],
            Self::BadKey => &["api key not valid"],
            Self::Pictures => PICTURES,
            Self::NoPictures => NO_PICTURES,
            Self::NoTools => NO_TOOLS,
            Self::Thoughts => THOUGHTS,
            Self::NoModel => &[
                "not found",
                "does not exist",
                "no such model",
                "unknown model",
            ],
            Self::Flagged => &["requires moderation", "was flagged"],
            Self::OtherThanLength => OTHER_THAN_LENGTH,
        }
    }
}

const LENGTH: &[&str] = &[
    "prompt is too long",
    "exceed context limit",
    "maximum context length",
    "context window",
    "context length",
    "available context size",
    "context size",
    "input is too long",
    "input token count",
    "reduce the length of the messages",
    "too many tokens in the prompt",
    "maximum prompt length",           // xAI
    "prompt token count of",           // GitHub Copilot
    "exceeded model token limit",      // Moonshot
    "range of input length should be", // DashScope
    "prompt exceeds max length",       // Zhipu
    "max context has been exceeded",   // KoboldCpp
    "model's max context",
    "exceeds the max_model_len", // vLLM
    "longer than the maximum model length",
    "longer than the model's context",
    "exceed the model's maximum",
    "exceeds the maximum number of tokens",
    "maximum number of tokens allowed",
    "input length and `max_tokens` exceed",
    "input is longer than the",
    "total tokens of image and text exceed",
    "number of tokens in the prompt",
    "prompt too long",
    "prompt is longer than",
    "input tokens exceed",
    "request_too_large",
    "too large for model with",     // Mistral
    "`inputs` must have less than", // Hugging Face
    "`inputs` tokens + `max_new_tokens` must be",
    "prompt tokens too long", // Baidu
    "exceeds the token limit",
    "token limit exceeded",
    "too many input tokens",
    "prompt token length",
];

const PICTURES: &[&str] = &[
    "image",
    "picture",
    "vision",
    "multimodal",
    "multi-modal",
    "media type",
    "media_type",
    "mmproj", // llama.cpp
    "modalit",
    "unexpected item type in content",
    "content must be a string",
    "content type",
    "image_url",
    "invalid content type", // Mistral, of a part it does not take
];

const NO_PICTURES: &[&str] = &[
    "does not support image",
    "doesn't support image",
    "not support image",
    "support image input", // OpenRouter: no endpoints found that …
    "does not support vision",
    "not a vision model",
    "image input is not supported",
    "images are not supported",
    "image_url is only supported",
    "does not support multimodal",
    "not a multimodal model",
    "no multimodal",
    "mmproj",
    "content must be a string",
];

const NO_TOOLS: &[&str] = &[
    "does not support tool",             // Ollama
    "requires --jinja",                  // llama.cpp
    "enable-auto-tool-choice",           // vLLM
    "support tool use",                  // OpenRouter: no endpoints found that …
    "does not support function calling", // LiteLLM, Mistral
    "tool use is not supported",
    "tools are not supported",
    "tools is not supported",
    "'tools' is not supported",
    "tools are unsupported",
    "tool calling is not supported",
    "tool calls are not supported",
    "`tool calling` is not supported", // Groq
    "function calling is not supported",
    "function calling is not enabled", // Gemma behind Gemini's API
    "functions are not supported",
    "argument supplied: tools",
    "arguments supplied: tools",
    "tools: extra inputs are not permitted",
];

const THOUGHTS: &[&str] = &[
    "`signature` in `thinking`", // Anthropic
    "signature in thinking",
    "thinking.signature",
    "`redacted_thinking` blocks in the latest", // Anthropic: they cannot be modified
    "thought signature is not valid",           // Gemini
    "invalid thought signature",
    "thought_signature is invalid",
    "corrupted thought signature",
    "encrypted content", // OpenAI Responses
    "encrypted_content",
    "required following item", // OpenAI Responses: a reasoning item without what followed it
    "required 'reasoning' item",
];

const OTHER_THAN_LENGTH: &[&str] = &[
    "unsupported parameter",
    "unsupported value",
    "unrecognized",
    "unknown field",
    "extra inputs are not permitted",
    "not found",
    "does not exist",
    "invalid schema",
    "signature",
    "tool_call_id",
];

pub(super) fn contains_any(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_is_too_long_is_known_by_the_words_of_each_server() {
        for sentence in [
            "prompt is too long: 210000 tokens > 200000 maximum",
            "This model's maximum context length is 8192 tokens. However, you requested 8256 tokens",
            "the request exceeds the available context size",
            "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens",
            "too many tokens: total number of tokens in the prompt cannot exceed 128000",
            "`inputs` must have less than 4096 tokens. Given: 5000",
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000",
            "Input is too long for requested model.",
            "invalid params, context window exceeds limit (2013)",
            "prompt tokens too long",
            "Please reduce the length of the messages or completion. Current length is 70000 while limit is 65536",
            "prompt too long; exceeded max context length by 30 tokens",
            "The prompt is too long: 150000, model maximum context length: 131071",
        ] {
            assert!(About::Length.is_in(sentence), "{sentence}");
        }
    }

    #[test]
    fn other_refusals_are_not_about_length() {
        for sentence in [
            "max_tokens is too large: 8000. This model supports at most 4096 completion tokens",
            "image exceeds 5 MB maximum: 5316852 bytes > 5242880 bytes",
            "`max_tokens` must be less than or equal to `4096`, the maximum value is less than the `context_window` for this model",
            "Invalid `signature` in `thinking` block",
        ] {
            assert!(!About::Length.is_in(sentence), "{sentence}");
        }
    }
}
