//! Reads an answer of OpenAI Responses.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::FORMAT;
use crate::domain::{StopReason, Usage};
use crate::llm::failure::{ApiError, Said};
use crate::llm::http::Event;
use crate::llm::parts::kind;
use crate::llm::provider::{Delta, Encoded, OnDelta, Reply};
use crate::llm::stream_decoder::{
    ContentBlock, Progress, RawCall, ReplyBuilder, StreamDecoder, tagged,
};
use crate::llm::tolerant::{count, counts, or_default};

/// Most items of one answer; more are treated as invalid.
const MAX_ITEMS: usize = 4_096;

/// An answer as far as it has been received.
#[derive(Debug, Default)]
pub(super) struct Response {
    /// Complete items, by their position.
    items: BTreeMap<u64, Value>,
    stop: Option<StopReason>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Sent {
    #[serde(rename = "response.output_item.added")]
    Begun { item: Value },
    #[serde(rename = "response.output_item.done")]
    Done { output_index: u64, item: Value },
    #[serde(
        rename = "response.output_text.delta",
        alias = "response.refusal.delta"
    )]
    Text { delta: String },
    #[serde(
        rename = "response.reasoning_summary_text.delta",
        alias = "response.reasoning_text.delta",
        alias = "response.reasoning_summary_part.added"
    )]
    Thought,
    #[serde(rename = "response.function_call_arguments.delta")]
    Arguments { delta: String },
    #[serde(rename = "response.completed")]
    Completed { response: Whole },
    #[serde(rename = "response.incomplete")]
    Incomplete { response: Whole },
    #[serde(rename = "response.failed")]
    Failed { response: Value },
    #[serde(rename = "error")]
    Error {
        #[serde(flatten)]
        error: Value,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Whole {
    #[serde(default, deserialize_with = "or_default")]
    output: Vec<Value>,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    error: Option<Value>,
    #[serde(default)]
    incomplete_details: Option<Incomplete>,
    #[serde(default, deserialize_with = "counts")]
    usage: Option<Counts>,
}

#[derive(Deserialize)]
struct Incomplete {
    #[serde(default)]
    reason: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Counts {
    #[serde(deserialize_with = "count")]
    input_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    output_tokens: Option<u64>,
    #[serde(deserialize_with = "counts")]
    input_tokens_details: Option<Details>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Details {
    #[serde(deserialize_with = "count")]
    cached_tokens: Option<u64>,
}

impl Counts {
    /// Returns the usage; `None` if the request itself was not counted.
    fn usage(&self) -> Option<Usage> {
        let input = self.input_tokens?;
        let details = self.input_tokens_details.as_ref();
        let cached = details.and_then(|details| details.cached_tokens);
        let cache_read = cached.unwrap_or_default().min(input);
        Some(Usage {
            input: input - cache_read,
            output: self.output_tokens.unwrap_or_default(),
            cache_read,
            cache_write: 0,
        })
    }
}

impl StreamDecoder for Response {
    fn take(&mut self, event: &Event, on_delta: &mut OnDelta<'_>) -> Result<Progress, ApiError> {
        match tagged(event)? {
            Sent::Begun { item } => {
                match kind(&item) {
                    "function_call" => on_delta(Delta::ToolCall(text_of(&item, "name"))),
                    "message" => {}
                    _ => on_delta(Delta::Thinking),
                }
                Ok(Progress::Content)
            }
            Sent::Done { output_index, item } => {
                if self.items.len() >= MAX_ITEMS {
                    return Err(ApiError::invalid("the answer has too many items"));
                }
                self.items.insert(output_index, item);
                Ok(Progress::Content)
            }
            Sent::Text { delta } => {
                on_delta(Delta::Text(&delta));
                Ok(if delta.is_empty() {
                    Progress::Nothing
                } else {
                    Progress::Content
                })
            }
            Sent::Thought => {
                on_delta(Delta::Thinking);
                Ok(Progress::Content)
            }
            Sent::Arguments { delta } => Ok(if delta.is_empty() {
                Progress::Nothing
            } else {
                Progress::Content
            }),
            Sent::Completed { response } => self.end(response, StopReason::EndTurn),
            Sent::Incomplete { response } => self.end(response, StopReason::MaxTokens),
            Sent::Failed { response } => {
                self.usage = response.get("usage").and_then(usage_of);
                Err(Said::read(&response).within_stream())
            }
            Sent::Error { error } => Err(Said::read(&error).within_stream()),
            Sent::Other => Ok(Progress::Nothing),
        }
    }

    fn events_of(whole: Value) -> Vec<Value> {
        if whole.get("output").is_some_and(Value::is_array) {
            vec![json!({"type": "response.completed", "response": whole})]
        } else {
            vec![whole]
        }
    }

    fn usage(&self) -> Option<Usage> {
        self.usage
    }

    fn reply(self, request: &Encoded, request_id: Option<String>) -> Reply {
        let mut draft = ReplyBuilder {
            usage: self.usage,
            ..ReplyBuilder::default()
        };
        let mut stop = self.stop.unwrap_or(StopReason::EndTurn);
        for item in self.items.into_values() {
            match kind(&item) {
                "message" => {
                    let (text, refused) = shown(&item, &mut draft);
                    if refused {
                        stop = StopReason::Refusal;
                    }
                    draft.blocks.push(ContentBlock::Text(text));
                }
                "function_call" => draft.blocks.push(ContentBlock::Call(RawCall {
                    id: text_of(&item, "call_id").to_owned(),
                    name: text_of(&item, "name").to_owned(),
                    arguments: text_of(&item, "arguments").to_owned(),
                    cut: text_of(&item, "status") == "incomplete",
                    ..RawCall::default()
                })),
                "reasoning" | "web_search_call" => draft.blocks.push(ContentBlock::Opaque {
                    block: item,
                    text: String::new(),
                }),
                // A kind of item that this code does not know: it could not be sent back correctly.
                _ => {}
            }
        }
        draft.finish(FORMAT, stop, request, request_id)
    }
}

impl Response {
    /// Handles the last event; `stop` is the reason for the end if the event does not name it.
    fn end(&mut self, response: Whole, stop: StopReason) -> Result<Progress, ApiError> {
        self.usage = response.usage.and_then(|counts| counts.usage());
        if let Some(error) = response.error.filter(|error| !error.is_null()) {
            return Err(Said::read(&json!({ "error": error })).within_stream());
        }
        let reason = response
            .incomplete_details
            .and_then(|details| details.reason);
        self.stop = Some(match (reason.as_deref(), response.status.as_deref()) {
            (Some("content_filter"), _) => StopReason::Refusal,
            (Some(_), _) | (None, Some("incomplete")) => StopReason::MaxTokens,
            (None, _) => stop,
        });
        // The last event repeats all items. It has more of them only if some were lost on the way.
        if self.items.len() < response.output.len() {
            self.items = (0..)
                .zip(response.output.into_iter().take(MAX_ITEMS))
                .collect();
        }
        Ok(Progress::Done)
    }
}

fn usage_of(counts: &Value) -> Option<Usage> {
    Counts::deserialize(counts).ok()?.usage()
}

/// Returns a message's text, and whether it is a refusal; its sources are added to `draft`.
fn shown(message: &Value, draft: &mut ReplyBuilder) -> (String, bool) {
    let (mut text, mut refused) = (String::new(), false);
    for part in list(message, "content") {
        match kind(part) {
            "output_text" => text.push_str(text_of(part, "text")),
            "refusal" => {
                refused = true;
                text.push_str(text_of(part, "refusal"));
            }
            _ => {}
        }
        for source in list(part, "annotations") {
            draft.cite(text_of(source, "title"), text_of(source, "url"));
        }
    }
    (text, refused)
}

fn text_of<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}
