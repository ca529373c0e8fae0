//! Reads an answer of Anthropic Messages.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::FORMAT;
use super::event::{Change, Counts, Sent};
use crate::domain::{StopReason, Usage};
use crate::llm::failure::{ApiError, Said};
use crate::llm::http::Event;
use crate::llm::parts::kind;
use crate::llm::provider::{Delta, Encoded, OnDelta, Reply};
use crate::llm::stream_decoder::{
    ContentBlock, Progress, RawCall, ReplyBuilder, StreamDecoder, tagged,
};

/// Most blocks of one answer; more are treated as invalid.
const MAX_BLOCKS: usize = 4_096;

/// An answer as far as it has been received.
#[derive(Debug, Default)]
pub(super) struct Messages {
    started: bool,
    open: BTreeMap<u64, Open>,
    done: BTreeMap<u64, Open>,
    usage: Counts,
    stop: Option<StopReason>,
}

/// A block that has begun.
#[derive(Debug)]
struct Open {
    /// The block as it began.
    block: Value,
    /// Text, thinking, or arguments as JSON.
    text: String,
    signature: String,
    citations: Vec<Value>,
}

impl StreamDecoder for Messages {
    fn take(&mut self, event: &Event, on_delta: &mut OnDelta<'_>) -> Result<Progress, ApiError> {
        match tagged(event)? {
            Sent::MessageStart { message } => {
                self.started = true;
                self.usage.take(message.usage.unwrap_or_default());
                Ok(Progress::Content)
            }
            Sent::ContentBlockStart {
                index,
                content_block,
            } => self.open(index, content_block, on_delta),
            Sent::ContentBlockDelta { index, delta } => self.change(index, delta, on_delta),
            Sent::ContentBlockStop { index } => self.close(index),
            Sent::MessageDelta { delta, usage } => {
                self.usage.take(usage.unwrap_or_default());
                if let Some(reason) = delta.stop_reason {
                    self.stop = Some(stop_reason(&reason));
                }
                Ok(Progress::Content)
            }
            Sent::MessageStop => self.end(),
            Sent::Error { error } => Err(Said::read(&json!({ "error": error })).within_stream()),
            Sent::Other => Ok(Progress::Nothing),
        }
    }

    /// Accepts an answer without an end mark if it has a stop reason: some servers leave the mark out.
    fn at_end(&self) -> Result<(), ApiError> {
        self.stop.ok_or_else(ApiError::cut)?;
        self.end().map(|_| ())
    }

    fn events_of(whole: Value) -> Vec<Value> {
        if kind(&whole) != "message" {
            return vec![whole];
        }
        let blocks = whole.get("content").and_then(Value::as_array);
        let blocks = (0..).zip(blocks.into_iter().flatten());
        let mut events = vec![json!({"type": "message_start", "message": {}})];
        for (index, block) in blocks {
            events.push(
                json!({"type": "content_block_start", "index": index, "content_block": block}),
            );
            events.push(json!({"type": "content_block_stop", "index": index}));
        }
        let delta = json!({"stop_reason": whole["stop_reason"]});
        events.push(json!({"type": "message_delta", "delta": delta, "usage": whole["usage"]}));
        events.push(json!({"type": "message_stop"}));
        events
    }

    fn usage(&self) -> Option<Usage> {
        self.usage.usage()
    }

    fn reply(self, request: &Encoded, request_id: Option<String>) -> Reply {
        let mut draft = ReplyBuilder {
            usage: self.usage.usage(),
            ..ReplyBuilder::default()
        };
        for block in self.done.values() {
            for citation in &block.citations {
                let field = |name| {
                    citation
                        .get(name)
                        .and_then(Value::as_str)
                        .unwrap_or_default()
                };
                draft.cite(field("title"), field("url"));
            }
        }
        // With server-side tools the text's own blocks are kept too: their citations point into the results.
        let keeps_text = self
            .done
            .values()
            .any(|block| is_server_side(kind(&block.block)));
        draft.blocks = self
            .done
            .into_values()
            .filter_map(|block| block.piece(keeps_text))
            .collect();
        draft.finish(
            FORMAT,
            self.stop.unwrap_or(StopReason::EndTurn),
            request,
            request_id,
        )
    }
}

impl Messages {
    fn open(
        &mut self,
        index: u64,
        block: Value,
        on_delta: &mut OnDelta<'_>,
    ) -> Result<Progress, ApiError> {
        let is_known = self.open.contains_key(&index) || self.done.contains_key(&index);
        if !self.started || is_known || self.done.len() + self.open.len() >= MAX_BLOCKS {
            return Err(ApiError::invalid(
                "the answer has a block that begins out of order",
            ));
        }
        let field = |name: &str| {
            block
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let text = match kind(&block) {
            "text" => field("text"),
            "thinking" => field("thinking"),
            _ => String::new(),
        };
        match kind(&block) {
            "text" if !text.is_empty() => on_delta(Delta::Text(&text)),
            "tool_use" => on_delta(Delta::ToolCall(&field("name"))),
            "text" => {}
            _ => on_delta(Delta::Thinking),
        }
        let signature = field("signature");
        self.open.insert(
            index,
            Open {
                block,
                text,
                signature,
                citations: Vec::new(),
            },
        );
        Ok(Progress::Content)
    }

    fn change(
        &mut self,
        index: u64,
        change: Change,
        on_delta: &mut OnDelta<'_>,
    ) -> Result<Progress, ApiError> {
        let Some(block) = self.open.get_mut(&index) else {
            return Err(ApiError::invalid(
                "the answer continues a block that has not begun",
            ));
        };
        let kind = kind(&block.block);
        let added = match change {
            Change::TextDelta { text } if kind == "text" => {
                on_delta(Delta::Text(&text));
                text
            }
            Change::ThinkingDelta { thinking } if kind == "thinking" => {
                on_delta(Delta::Thinking);
                thinking
            }
            Change::InputJsonDelta { partial_json } if kind.ends_with("tool_use") => partial_json,
            Change::SignatureDelta { signature } => {
                block.signature.push_str(&signature);
                return Ok(Progress::Content);
            }
            Change::CitationsDelta { citation } => {
                block.citations.push(citation);
                return Ok(Progress::Content);
            }
            Change::Other => return Ok(Progress::Nothing),
            Change::TextDelta { .. }
            | Change::ThinkingDelta { .. }
            | Change::InputJsonDelta { .. } => {
                return Err(ApiError::invalid("the answer changes the kind of a block"));
            }
        };
        block.text.push_str(&added);
        Ok(if added.is_empty() {
            Progress::Nothing
        } else {
            Progress::Content
        })
    }

    fn close(&mut self, index: u64) -> Result<Progress, ApiError> {
        let Some(block) = self.open.remove(&index) else {
            return Err(ApiError::invalid(
                "the answer ends a block that has not begun",
            ));
        };
        self.done.insert(index, block);
        Ok(Progress::Content)
    }

    fn end(&self) -> Result<Progress, ApiError> {
        // Some servers never give a reason. The end mark shows that the answer is complete.
        let has_end = self.stop.is_some() || !self.done.is_empty();
        if self.started && has_end && self.open.is_empty() {
            Ok(Progress::Done)
        } else {
            Err(ApiError::cut())
        }
    }
}

impl Open {
    fn piece(self, keeps_text: bool) -> Option<ContentBlock> {
        let kind = kind(&self.block).to_owned();
        let mut block = self.block;
        match kind.as_str() {
            "text" if keeps_text && !self.text.trim().is_empty() => {
                block["text"] = json!(self.text);
                if self.citations.is_empty() {
                    block
                        .as_object_mut()
                        .and_then(|block| block.shift_remove("citations"))
                } else {
                    block
                        .as_object_mut()
                        .and_then(|block| block.insert("citations".into(), self.citations.into()))
                };
                Some(ContentBlock::Opaque {
                    block,
                    text: self.text,
                })
            }
            "text" => Some(ContentBlock::Text(self.text)),
            "tool_use" => {
                let field = |name| {
                    block
                        .get(name)
                        .and_then(Value::as_str)
                        .unwrap_or_default()
                        .to_owned()
                };
                // A server that does not stream arguments sends them whole at the start.
                let given = block
                    .get("input")
                    .filter(|input| input.as_object().is_some_and(|input| !input.is_empty()));
                let arguments = match (self.text.is_empty(), given) {
                    (true, Some(input)) => input.to_string(),
                    _ => self.text,
                };
                Some(ContentBlock::Call(RawCall {
                    id: field("id"),
                    name: field("name"),
                    arguments,
                    ..RawCall::default()
                }))
            }
            "thinking" => {
                block["thinking"] = json!(self.text);
                block["signature"] = json!(self.signature);
                let is_signed = !self.signature.is_empty();
                is_signed.then_some(ContentBlock::Opaque {
                    block,
                    text: String::new(),
                })
            }
            "server_tool_use" => {
                let input: Value = serde_json::from_str(&self.text).unwrap_or_else(|_| json!({}));
                if block
                    .get("input")
                    .is_none_or(|given| given.as_object().is_none_or(serde_json::Map::is_empty))
                {
                    block["input"] = input;
                }
                Some(ContentBlock::Opaque {
                    block,
                    text: String::new(),
                })
            }
            "redacted_thinking" => Some(ContentBlock::Opaque {
                block,
                text: String::new(),
            }),
            result if is_server_side(result) => Some(ContentBlock::Opaque {
                block,
                text: String::new(),
            }),
            // A kind of block that this code does not know: it could not be sent back correctly.
            _ => None,
        }
    }
}

fn is_server_side(kind: &str) -> bool {
    kind == "server_tool_use" || kind.ends_with("_tool_result")
}

fn stop_reason(reason: &str) -> StopReason {
    match reason {
        "tool_use" => StopReason::ToolUse,
        "max_tokens" => StopReason::MaxTokens,
        "pause_turn" => StopReason::Pause,
        "refusal" => StopReason::Refusal,
        "model_context_window_exceeded" => StopReason::ContextExceeded,
        _ => StopReason::EndTurn,
    }
}
