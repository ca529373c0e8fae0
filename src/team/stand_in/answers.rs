//! One answer of a model in the form of each provider, whole or streamed.

use serde_json::{Value, json};

use super::tools::{Call, CallKind};
use crate::team::form::{Delivery, Form};

/// The content types of an answer in one piece, and of a streamed one.
const JSON: &str = "application/json";
const STREAM: &str = "text/event-stream";

/// The id of the call.
const CALL: &str = "call_check";

/// An answer: a call, or words.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer {
    pub(super) model: String,
    pub(super) call: Option<Call>,
    pub(super) text: String,
}

impl Answer {
    /// Returns its content type and its text.
    pub(super) fn written(&self, form: Form, delivery: Delivery) -> (&'static str, String) {
        let whole = match form {
            Form::Anthropic | Form::CountTokens => self.anthropic(),
            Form::Chat => self.chat("message"),
            Form::Responses => self.responses(),
            Form::Gemini => self.gemini(),
        };
        if delivery == Delivery::Whole {
            return (JSON, whole.to_string());
        }
        let events = match form {
            Form::Anthropic | Form::CountTokens => self.anthropic_events(),
            Form::Chat => return (STREAM, self.chat_stream()),
            Form::Responses => self.responses_events(&whole),
            Form::Gemini => return (STREAM, format!("data: {whole}\n\n")),
        };
        let frames = events.iter().map(|event| {
            let name = event["type"].as_str().unwrap_or("message");
            format!("event: {name}\ndata: {event}\n\n")
        });
        (STREAM, frames.collect())
    }

    fn anthropic(&self) -> Value {
        let (block, reason) = match &self.call {
            Some(call) => (
                json!({"type": "tool_use", "id": CALL, "name": call.name, "input": call.arguments}),
                "tool_use",
            ),
            None => (json!({"type": "text", "text": self.text}), "end_turn"),
        };
        json!({
            "id": "msg_check", "type": "message", "role": "assistant", "model": self.model, "content": [block],
            "stop_reason": reason, "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 1},
        })
    }

    fn anthropic_events(&self) -> Vec<Value> {
        let whole = self.anthropic();
        let mut start = whole.clone();
        start["content"] = json!([]);
        start["stop_reason"] = Value::Null;
        let (opened, delta) = match &self.call {
            Some(call) => (
                json!({"type": "tool_use", "id": CALL, "name": call.name, "input": {}}),
                json!({"type": "input_json_delta", "partial_json": call.arguments.to_string()}),
            ),
            None => (
                json!({"type": "text", "text": ""}),
                json!({"type": "text_delta", "text": self.text}),
            ),
        };
        vec![
            json!({"type": "message_start", "message": start}),
            json!({"type": "content_block_start", "index": 0, "content_block": opened}),
            json!({"type": "content_block_delta", "index": 0, "delta": delta}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": null},
                "usage": {"output_tokens": 1}}),
            json!({"type": "message_stop"}),
        ]
    }

    /// An answer of Chat Completions; `part` is `message`, or `delta` for the piece of a stream.
    fn chat(&self, part: &str) -> Value {
        let (message, reason) = match &self.call {
            Some(call) => {
                let function = json!({"name": call.name, "arguments": call.arguments.to_string()});
                let call =
                    json!({"index": 0, "id": CALL, "type": "function", "function": function});
                (
                    json!({"role": "assistant", "content": null, "tool_calls": [call]}),
                    "tool_calls",
                )
            }
            None => (json!({"role": "assistant", "content": self.text}), "stop"),
        };
        let object = match part {
            "message" => "chat.completion",
            _ => "chat.completion.chunk",
        };
        json!({
            "id": "chatcmpl-check", "object": object, "created": 0, "model": self.model,
            "choices": [{"index": 0, part: message, "finish_reason": reason}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        })
    }

    fn chat_stream(&self) -> String {
        format!("data: {}\n\ndata: [DONE]\n\n", self.chat("delta"))
    }

    fn responses(&self) -> Value {
        json!({
            "id": "resp_check", "object": "response", "created_at": 0, "status": "completed", "model": self.model,
            "output": [self.response_item()], "parallel_tool_calls": false,
            "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2,
                "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}},
        })
    }

    fn response_item(&self) -> Value {
        match &self.call {
            Some(call) if call.kind == CallKind::Text => json!({
                "type": "custom_tool_call", "id": "ctc_check", "call_id": CALL, "name": call.name,
                "input": call.arguments, "status": "completed",
            }),
            Some(call) => json!({
                "type": "function_call", "id": "fc_check", "call_id": CALL, "name": call.name,
                "arguments": call.arguments.to_string(), "status": "completed",
            }),
            None => json!({
                "type": "message", "id": "msg_check", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": self.text, "annotations": []}],
            }),
        }
    }

    fn responses_events(&self, whole: &Value) -> Vec<Value> {
        let mut started = whole.clone();
        started["status"] = json!("in_progress");
        started["output"] = json!([]);
        let item = self.response_item();
        let said = match &self.call {
            Some(call) if call.kind == CallKind::Text => {
                json!({"type": "response.custom_tool_call_input.done", "item_id": "ctc_check", "output_index": 0,
                "input": item["input"]})
            }
            Some(_) => {
                json!({"type": "response.function_call_arguments.done", "item_id": "fc_check", "output_index": 0,
                "arguments": item["arguments"]})
            }
            None => {
                json!({"type": "response.output_text.delta", "item_id": "msg_check", "output_index": 0,
                "content_index": 0, "delta": self.text})
            }
        };
        vec![
            json!({"type": "response.created", "response": started}),
            json!({"type": "response.output_item.added", "output_index": 0, "item": item}),
            said,
            json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
            json!({"type": "response.completed", "response": whole}),
        ]
    }

    fn gemini(&self) -> Value {
        let part = match &self.call {
            Some(call) => json!({"functionCall": {"name": call.name, "args": call.arguments}}),
            None => json!({"text": self.text}),
        };
        json!({
            "candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
            "modelVersion": self.model,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn every_frame_of_a_stream_is_json() {
        let arguments = json!({"command": "ls"});
        let name = "bash".to_owned();
        for call in [
            None,
            Some(Call {
                name,
                arguments,
                kind: CallKind::Function,
            }),
        ] {
            let answer = Answer {
                model: "m".to_owned(),
                call,
                text: "Done.".to_owned(),
            };
            for form in [Form::Anthropic, Form::Chat, Form::Responses, Form::Gemini] {
                let (kind, text) = answer.written(form, Delivery::Streamed);
                assert_eq!(kind, STREAM);
                let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
                for data in data.filter(|data| *data != "[DONE]") {
                    serde_json::from_str::<Value>(data).unwrap();
                }
                let (kind, text) = answer.written(form, Delivery::Whole);
                assert_eq!(kind, JSON);
                let says = if answer.call.is_some() {
                    "bash"
                } else {
                    "Done."
                };
                assert!(text.contains(says), "{form:?}: {text}");
            }
        }
    }
}
