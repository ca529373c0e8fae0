//! What a prompt consists of, and why one ends.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chorus_text::{one_line, visible};
use serde_json::{Value, json};

/// Characters of an unknown reason.
const REASON: usize = 64;

/// A part of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    Text(String),
    Image {
        mime: String,
        data: Vec<u8>,
    },
    /// The content of a text file.
    File {
        uri: String,
        text: String,
    },
}

/// Why a prompt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    EndTurn,
    MaxTokens,
    MaxTurnRequests,
    Refusal,
    Cancelled,
    /// A word that this client does not know.
    Unknown(String),
}

impl Block {
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Text(text) => json!({"type": "text", "text": text}),
            Self::Image { mime, data } => {
                json!({"type": "image", "mimeType": mime, "data": STANDARD.encode(data)})
            }
            Self::File { uri, text } => {
                json!({"type": "resource", "resource": {"uri": uri, "mimeType": "text/plain", "text": text}})
            }
        }
    }
}

impl StopReason {
    pub(crate) fn read(word: &str) -> Self {
        match word {
            "end_turn" => Self::EndTurn,
            "max_tokens" => Self::MaxTokens,
            "max_turn_requests" => Self::MaxTurnRequests,
            "refusal" => Self::Refusal,
            "cancelled" => Self::Cancelled,
            other => Self::Unknown(visible(&one_line(other, REASON)).0),
        }
    }
}
