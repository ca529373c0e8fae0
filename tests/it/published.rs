//! The request schemas that providers publish, and what breaks them.

use std::sync::LazyLock;

use jsonschema::Validator;
use serde_json::Value;

/// A request format with a published schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Published {
    AnthropicMessages,
    OpenAiChat,
    OpenAiResponses,
}

static ANTHROPIC: LazyLock<Validator> =
    LazyLock::new(|| read(include_str!("../data/schemas/anthropic_messages.json")));
static CHAT: LazyLock<Validator> =
    LazyLock::new(|| read(include_str!("../data/schemas/openai_chat.json")));
static RESPONSES: LazyLock<Validator> =
    LazyLock::new(|| read(include_str!("../data/schemas/openai_responses.json")));

impl Published {
    /// The format that is asked for at an address; none where its maker publishes no schema.
    pub(crate) fn at(path: &str) -> Option<Self> {
        [
            ("/v1/messages", Self::AnthropicMessages),
            ("/chat/completions", Self::OpenAiChat),
            ("/responses", Self::OpenAiResponses),
        ]
        .into_iter()
        .find_map(|(end, format)| path.ends_with(end).then_some(format))
    }

    pub(crate) fn schema(self) -> &'static Validator {
        match self {
            Self::AnthropicMessages => &ANTHROPIC,
            Self::OpenAiChat => &CHAT,
            Self::OpenAiResponses => &RESPONSES,
        }
    }

    /// Everything in `body` that breaks the schema.
    pub(crate) fn broken(self, body: &Value) -> Vec<String> {
        self.schema()
            .iter_errors(body)
            .map(|error| format!("{self:?} {}: {error}", error.instance_path()))
            .map(|error| error.chars().take(500).collect())
            .collect()
    }
}

fn read(schema: &str) -> Validator {
    jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap()
}
