//! Anthropic Messages from the server's side: whole answers, streamed answers, errors.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// Approximate characters of a text in one streamed piece.
const PIECE: usize = 24;

/// One block of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// Text.
    Text(String),
    /// Thinking, with the signature that the client must return.
    Thinking(String, String),
    /// A tool to run: id, name, arguments.
    Call(String, String, Value),
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// Its blocks, in order.
    pub blocks: Vec<Block>,
    /// Why it ended; `None` means `tool_use` if there is a call, and `end_turn` otherwise.
    pub stop_reason: Option<&'static str>,
    /// Tokens of the request that were not cached.
    pub input_tokens: u64,
    /// Tokens of the request that were read from the cache.
    pub cache_read_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
}

impl Reply {
    /// Creates an answer of these blocks; tokens are estimated.
    pub fn new(blocks: Vec<Block>) -> Self {
        let length: usize = blocks
            .iter()
            .map(|block| match block {
                Block::Text(text) | Block::Thinking(text, _) => text.len(),
                Block::Call(_, name, input) => name.len() + input.to_string().len(),
            })
            .sum();
        Self {
            blocks,
            stop_reason: None,
            input_tokens: 100,
            cache_read_tokens: 0,
            output_tokens: estimate(length),
        }
    }

    fn stop_reason(&self) -> &'static str {
        let calls = self
            .blocks
            .iter()
            .any(|block| matches!(block, Block::Call(..)));
        self.stop_reason
            .unwrap_or(if calls { "tool_use" } else { "end_turn" })
    }

    fn usage(&self) -> Value {
        json!({
            "input_tokens": self.input_tokens,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": self.cache_read_tokens,
            "output_tokens": self.output_tokens,
        })
    }
}

/// Estimates the tokens in a text of so many bytes.
pub fn estimate(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(4).max(1)
}

/// Returns the answer in one piece.
pub fn whole(reply: &Reply, model: &str) -> Value {
    let content: Vec<Value> = reply
        .blocks
        .iter()
        .map(|block| match block {
            Block::Text(text) => json!({"type": "text", "text": text}),
            Block::Thinking(text, signature) => {
                json!({"type": "thinking", "thinking": text, "signature": signature})
            }
            Block::Call(id, name, input) => {
                json!({"type": "tool_use", "id": id, "name": name, "input": input})
            }
        })
        .collect();
    json!({
        "id": "msg_local",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": reply.stop_reason(),
        "stop_sequence": null,
        "usage": reply.usage(),
    })
}

/// Returns the events of a streamed answer, in order; each names its type.
pub fn events(reply: &Reply, model: &str) -> Vec<Value> {
    let mut start = whole(
        &Reply {
            blocks: Vec::new(),
            output_tokens: 1,
            ..reply.clone()
        },
        model,
    );
    start["stop_reason"] = Value::Null;
    let mut events = vec![
        json!({"type": "message_start", "message": start}),
        json!({"type": "ping"}),
    ];
    for (index, block) in reply.blocks.iter().enumerate() {
        let (opened, deltas) = block_events(block);
        events
            .push(json!({"type": "content_block_start", "index": index, "content_block": opened}));
        for delta in deltas {
            events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.push(json!({
        "type": "message_delta",
        "delta": {"stop_reason": reply.stop_reason(), "stop_sequence": null},
        "usage": {"output_tokens": reply.output_tokens},
    }));
    events.push(json!({"type": "message_stop"}));
    events
}

fn block_events(block: &Block) -> (Value, Vec<Value>) {
    match block {
        Block::Text(text) => (
            json!({"type": "text", "text": ""}),
            pieces(text)
                .map(|piece| json!({"type": "text_delta", "text": piece}))
                .collect(),
        ),
        Block::Thinking(text, signature) => {
            let thought =
                pieces(text).map(|piece| json!({"type": "thinking_delta", "thinking": piece}));
            let signed = json!({"type": "signature_delta", "signature": signature});
            let opened = json!({"type": "thinking", "thinking": "", "signature": ""});
            (opened, thought.chain([signed]).collect())
        }
        Block::Call(id, name, input) => {
            let json_text = input.to_string();
            let deltas = pieces(&json_text)
                .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}))
                .collect();
            (
                json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
                deltas,
            )
        }
    }
}

/// Splits a text into pieces that end where a character ends.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest
            .char_indices()
            .nth(PIECE)
            .map_or(rest.len(), |(end, _)| end);
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece)
    })
}

/// Formats one event for the wire.
pub fn frame(event: &Value) -> String {
    let name = event["type"].as_str().unwrap_or("message");
    format!("event: {name}\ndata: {event}\n\n")
}

/// Returns an error in Anthropic's form.
pub fn error(status: StatusCode, kind: &str, message: &str) -> Response {
    let body = json!({"type": "error", "error": {"type": kind, "message": message}});
    (status, Json(body)).into_response()
}
