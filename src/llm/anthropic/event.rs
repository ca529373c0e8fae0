//! The events of a streamed Anthropic Messages answer.

use serde::Deserialize;
use serde_json::Value;

use crate::domain::Usage;
use crate::llm::tolerant::{count, counts};

/// An event, by its type.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Sent {
    MessageStart {
        message: Start,
    },
    ContentBlockStart {
        index: u64,
        content_block: Value,
    },
    ContentBlockDelta {
        index: u64,
        delta: Change,
    },
    ContentBlockStop {
        index: u64,
    },
    MessageDelta {
        delta: End,
        #[serde(default, deserialize_with = "counts")]
        usage: Option<Counts>,
    },
    MessageStop,
    Error {
        #[serde(default)]
        error: Value,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
pub(super) struct Start {
    #[serde(default, deserialize_with = "counts")]
    pub(super) usage: Option<Counts>,
}

#[derive(Deserialize)]
pub(super) struct End {
    #[serde(default)]
    pub(super) stop_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Change {
    TextDelta {
        text: String,
    },
    InputJsonDelta {
        partial_json: String,
    },
    ThinkingDelta {
        thinking: String,
    },
    SignatureDelta {
        signature: String,
    },
    CitationsDelta {
        citation: Value,
    },
    #[serde(other)]
    Other,
}

/// Token counts of one event; a later count replaces an earlier one.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Counts {
    #[serde(deserialize_with = "count")]
    input_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    output_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    cache_read_input_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    cache_creation_input_tokens: Option<u64>,
}

impl Counts {
    /// Takes the counts of a later event.
    pub(super) fn take(&mut self, later: Self) {
        self.input_tokens = later.input_tokens.or(self.input_tokens);
        self.output_tokens = later.output_tokens.or(self.output_tokens);
        self.cache_read_input_tokens = later
            .cache_read_input_tokens
            .or(self.cache_read_input_tokens);
        self.cache_creation_input_tokens = later
            .cache_creation_input_tokens
            .or(self.cache_creation_input_tokens);
    }

    /// Returns the usage; `None` before the input was counted.
    pub(super) fn usage(self) -> Option<Usage> {
        Some(Usage {
            input: self.input_tokens?,
            output: self.output_tokens.unwrap_or_default(),
            cache_read: self.cache_read_input_tokens.unwrap_or_default(),
            cache_write: self.cache_creation_input_tokens.unwrap_or_default(),
        })
    }
}
