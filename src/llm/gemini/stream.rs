//! Reads an answer of Gemini.

use serde::Deserialize;
use serde_json::{Value, json};

use super::FORMAT;
use crate::domain::{StopReason, Usage};
use crate::llm::failure::{ApiError, Said};
use crate::llm::http::Event;
use crate::llm::provider::{Delta, Encoded, OnDelta, Reply};
use crate::llm::stream_decoder::{
    ContentBlock, Progress, RawCall, ReplyBuilder, StreamDecoder, cite, nonsense,
};
use crate::llm::tolerant::{count, counts, or_default};

/// Most parts of one answer; more are treated as invalid.
const MAX_PARTS: usize = 65_536;

/// An answer as far as it has been received.
#[derive(Debug, Default)]
pub(super) struct Generation {
    blocks: Vec<ContentBlock>,
    citations: Vec<(String, String)>,
    stop: Option<StopReason>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk {
    #[serde(default, deserialize_with = "or_default")]
    candidates: Vec<Candidate>,
    #[serde(default)]
    prompt_feedback: Option<Feedback>,
    #[serde(default, deserialize_with = "counts")]
    usage_metadata: Option<Counts>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    #[serde(default, deserialize_with = "count")]
    index: Option<u64>,
    #[serde(default)]
    content: Option<Content>,
    #[serde(default)]
    finish_reason: Option<String>,
    #[serde(default)]
    grounding_metadata: Option<Value>,
}

#[derive(Default, Deserialize)]
struct Content {
    #[serde(default, deserialize_with = "or_default")]
    parts: Vec<Part>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    #[serde(default)]
    text: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    thought: bool,
    #[serde(default)]
    thought_signature: Option<String>,
    #[serde(default)]
    function_call: Option<Call>,
}

#[derive(Deserialize)]
struct Call {
    #[serde(default)]
    id: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    name: String,
    #[serde(default)]
    args: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    #[serde(default)]
    block_reason: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Counts {
    #[serde(deserialize_with = "count")]
    prompt_token_count: Option<u64>,
    #[serde(deserialize_with = "count")]
    cached_content_token_count: Option<u64>,
    #[serde(deserialize_with = "count")]
    candidates_token_count: Option<u64>,
    #[serde(deserialize_with = "count")]
    thoughts_token_count: Option<u64>,
    #[serde(deserialize_with = "count")]
    tool_use_prompt_token_count: Option<u64>,
}

impl Counts {
    /// Returns the usage; `None` if the request itself was not counted.
    fn usage(&self) -> Option<Usage> {
        let prompt = self.prompt_token_count?;
        let or_none = |count: Option<u64>| count.unwrap_or_default();
        let cache_read = or_none(self.cached_content_token_count).min(prompt);
        Some(Usage {
            input: (prompt - cache_read).saturating_add(or_none(self.tool_use_prompt_token_count)),
            output: or_none(self.candidates_token_count)
                .saturating_add(or_none(self.thoughts_token_count)),
            cache_read,
            cache_write: 0,
        })
    }
}

impl StreamDecoder for Generation {
    fn take(&mut self, event: &Event, on_delta: &mut OnDelta<'_>) -> Result<Progress, ApiError> {
        let chunk: Chunk = serde_json::from_str(&event.data).map_err(nonsense)?;
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            return Err(Said::read(&json!({ "error": error })).within_stream());
        }
        let mut progress = Progress::Nothing;
        if let Some(usage) = chunk.usage_metadata.and_then(|counts| counts.usage()) {
            self.usage = Some(usage);
        }
        if chunk
            .prompt_feedback
            .and_then(|feedback| feedback.block_reason)
            .is_some()
        {
            self.stop = Some(StopReason::Refusal);
            progress = Progress::Content;
        }
        for candidate in chunk
            .candidates
            .into_iter()
            .filter(|candidate| candidate.index.unwrap_or_default() == 0)
        {
            for part in candidate.content.unwrap_or_default().parts {
                if self.add(part, on_delta)? {
                    progress = Progress::Content;
                }
            }
            if let Some(grounding) = candidate.grounding_metadata {
                self.cite(&grounding);
            }
            if let Some(reason) = candidate.finish_reason {
                self.stop = Some(stop_reason(&reason)?);
                progress = Progress::Content;
            }
        }
        Ok(progress)
    }

    /// Accepts an answer with a finish reason: the format has no end mark.
    fn at_end(&self) -> Result<(), ApiError> {
        self.stop.map(|_| ()).ok_or_else(ApiError::cut)
    }

    fn usage(&self) -> Option<Usage> {
        self.usage
    }

    fn reply(self, request: &Encoded, request_id: Option<String>) -> Reply {
        let draft = ReplyBuilder {
            blocks: self.blocks,
            citations: self.citations,
            usage: self.usage,
        };
        draft.finish(
            FORMAT,
            self.stop.unwrap_or(StopReason::EndTurn),
            request,
            request_id,
        )
    }
}

impl Generation {
    /// Adds one part; true if it has any content.
    fn add(&mut self, part: Part, on_delta: &mut OnDelta<'_>) -> Result<bool, ApiError> {
        if self.blocks.len() >= MAX_PARTS {
            return Err(ApiError::invalid("the answer has too many parts"));
        }
        if let Some(call) = part.function_call {
            on_delta(Delta::ToolCall(&call.name));
            self.blocks.push(ContentBlock::Call(RawCall {
                id: call.id.unwrap_or_default(),
                name: call.name,
                arguments: call
                    .args
                    .filter(|args| !args.is_null())
                    .map(|args| args.to_string())
                    .unwrap_or_default(),
                beside: part
                    .thought_signature
                    .map(|signature| json!({ "callSignature": signature })),
                cut: false,
            }));
            return Ok(true);
        }
        let text = part.text.unwrap_or_default();
        if part.thought {
            on_delta(Delta::Thinking);
            return Ok(!text.is_empty());
        }
        let brings = !text.is_empty();
        if brings {
            on_delta(Delta::Text(&text));
            self.blocks.push(ContentBlock::Text(text));
        }
        if let Some(signature) = part.thought_signature {
            let block = json!({ "textSignature": signature });
            self.blocks.push(ContentBlock::Opaque {
                block,
                text: String::new(),
            });
        }
        Ok(brings)
    }

    fn cite(&mut self, grounding: &Value) {
        let sources = grounding.get("groundingChunks").and_then(Value::as_array);
        for source in sources
            .into_iter()
            .flatten()
            .filter_map(|chunk| chunk.get("web"))
        {
            let field = |name| source.get(name).and_then(Value::as_str).unwrap_or_default();
            cite(&mut self.citations, field("title"), field("uri"));
        }
    }
}

fn stop_reason(reason: &str) -> Result<StopReason, ApiError> {
    match reason {
        "MAX_TOKENS" => Ok(StopReason::MaxTokens),
        "SAFETY"
        | "RECITATION"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "LANGUAGE"
        | "IMAGE_SAFETY"
        | "IMAGE_RECITATION"
        | "IMAGE_PROHIBITED_CONTENT" => Ok(StopReason::Refusal),
        "MALFORMED_FUNCTION_CALL"
        | "UNEXPECTED_TOOL_CALL"
        | "TOO_MANY_TOOL_CALLS"
        | "MISSING_THOUGHT_SIGNATURE"
        | "MALFORMED_RESPONSE" => Err(ApiError::invalid("the model sent an invalid tool call")),
        _ => Ok(StopReason::EndTurn),
    }
}
