//! Reads an answer of OpenAI Chat Completions, from OpenAI and from servers that only resemble it.

use serde::Deserialize;
use serde_json::{Value, json};

use super::FORMAT;
use crate::domain::{StopReason, Usage};
use crate::llm::failure::{Fault, Said};
use crate::llm::reading::{Draft, Piece, Progress, RawCall, Reading};
use crate::llm::sse::Event;
use crate::llm::{Delta, Encoded, OnDelta, Reply};

/// Most calls that one answer makes; more is no answer.
const MAX_CALLS: usize = 1_024;

/// What the stream ends with.
const END: &str = "[DONE]";

/// An answer as far as it has come.
#[derive(Debug, Default)]
pub(super) struct Completion {
    text: String,
    /// What the model thought, from servers that show it and want it back.
    reasoning: String,
    refusal: bool,
    calls: Vec<Call>,
    finish: Option<String>,
    usage: Option<Usage>,
}

#[derive(Debug)]
struct Call {
    index: Option<u64>,
    raw: RawCall,
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Vec<Choice>,
    #[serde(default)]
    usage: Option<Counts>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    delta: Option<Change>,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Change {
    content: Option<String>,
    refusal: Option<String>,
    reasoning_content: Option<String>,
    reasoning: Option<String>,
    tool_calls: Option<Vec<CallChange>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CallChange {
    index: Option<u64>,
    id: Option<String>,
    function: Option<FunctionChange>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct FunctionChange {
    name: Option<String>,
    arguments: Option<Value>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Counts {
    prompt_tokens: u64,
    completion_tokens: u64,
    prompt_tokens_details: Option<Details>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Details {
    cached_tokens: Option<u64>,
}

impl Counts {
    fn usage(&self) -> Usage {
        let cached = self
            .prompt_tokens_details
            .as_ref()
            .and_then(|details| details.cached_tokens);
        let cache_read = cached.unwrap_or_default().min(self.prompt_tokens);
        Usage {
            input: self.prompt_tokens - cache_read,
            output: self.completion_tokens,
            cache_read,
            cache_write: 0,
        }
    }
}

impl Reading for Completion {
    fn take(&mut self, event: &Event, on_delta: &mut OnDelta<'_>) -> Result<Progress, Fault> {
        let data = event.data.trim();
        if data == END {
            return match self.finish {
                Some(_) => Ok(Progress::Done),
                None => Err(Fault::cut()),
            };
        }
        let chunk: Chunk = serde_json::from_str(data).map_err(|error| {
            Fault::invalid(format!("an event of the answer makes no sense ({error})"))
        })?;
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            return Err(Said::read(&json!({ "error": error })).within_stream());
        }
        let mut progress = Progress::Nothing;
        if let Some(counts) = chunk.usage {
            self.usage = Some(counts.usage());
            progress = Progress::Content;
        }
        for choice in chunk
            .choices
            .into_iter()
            .filter(|choice| choice.index.unwrap_or_default() == 0)
        {
            if self.change(choice.delta.unwrap_or_default(), on_delta)? {
                progress = Progress::Content;
            }
            if let Some(reason) = choice.finish_reason {
                self.finish = Some(reason);
                progress = Progress::Content;
            }
        }
        Ok(progress)
    }

    fn usage(&self) -> Option<Usage> {
        self.usage
    }

    fn reply(self, request: &Encoded, request_id: Option<String>) -> Reply {
        let stop = match self.finish.as_deref() {
            Some("length") => StopReason::MaxTokens,
            Some("content_filter") => StopReason::Refusal,
            _ if self.refusal => StopReason::Refusal,
            _ => StopReason::EndTurn,
        };
        let mut draft = Draft {
            usage: self.usage,
            ..Draft::default()
        };
        if !self.reasoning.is_empty() && !self.calls.is_empty() {
            let block = json!({ "reasoning_content": self.reasoning });
            draft.pieces.push(Piece::Opaque {
                block,
                text: String::new(),
            });
        }
        draft.pieces.push(Piece::Text(self.text));
        draft
            .pieces
            .extend(self.calls.into_iter().map(|call| Piece::Call(call.raw)));
        draft.finish(FORMAT, stop, request, request_id)
    }
}

impl Completion {
    /// Adds what a chunk brings; true when that is anything.
    fn change(&mut self, change: Change, on_delta: &mut OnDelta<'_>) -> Result<bool, Fault> {
        let mut brings = false;
        for text in [
            change.content,
            change
                .refusal
                .inspect(|text| self.refusal |= !text.is_empty()),
        ] {
            let Some(text) = text.filter(|text| !text.is_empty()) else {
                continue;
            };
            on_delta(Delta::Text(&text));
            self.text.push_str(&text);
            brings = true;
        }
        let thought = change
            .reasoning_content
            .inspect(|text| self.reasoning.push_str(text));
        let thought = thought.or(change.reasoning).unwrap_or_default();
        if !thought.is_empty() {
            on_delta(Delta::Thinking);
            brings = true;
        }
        for call in change.tool_calls.unwrap_or_default() {
            brings |= self.change_call(call, on_delta)?;
        }
        Ok(brings)
    }

    /// A call is known by its index; a server that sends none sends each call whole, or goes on with the last one.
    fn change_call(
        &mut self,
        change: CallChange,
        on_delta: &mut OnDelta<'_>,
    ) -> Result<bool, Fault> {
        let function = change.function.unwrap_or_default();
        let id = change.id.unwrap_or_default();
        let name = function.name.unwrap_or_default();
        let at = match self.place(change.index, &id, &name) {
            Some(at) => at,
            None if self.calls.len() >= MAX_CALLS => {
                return Err(Fault::invalid("the answer makes too many calls"));
            }
            None => {
                on_delta(Delta::ToolCall(&name));
                self.calls.push(Call {
                    index: change.index,
                    raw: RawCall::default(),
                });
                self.calls.len() - 1
            }
        };
        let raw = &mut self.calls[at].raw;
        if raw.id.is_empty() {
            raw.id.clone_from(&id);
        }
        if raw.name.is_empty() {
            raw.name.clone_from(&name);
        }
        let arguments = match function.arguments {
            Some(Value::String(text)) => text,
            Some(whole @ Value::Object(_)) => whole.to_string(),
            Some(_) | None => String::new(),
        };
        raw.arguments.push_str(&arguments);
        Ok(!(id.is_empty() && name.is_empty() && arguments.is_empty()))
    }

    /// Which call a change belongs to; none when it begins a new one.
    ///
    /// Some servers give every call the index 0: another id at a known index is another call.
    fn place(&self, index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let is_other = |call: &Call| !id.is_empty() && !call.raw.id.is_empty() && call.raw.id != id;
        let by_index = |call: &Call| index.is_some() && call.index == index;
        match self.calls.iter().rposition(by_index) {
            Some(at) if !is_other(&self.calls[at]) => Some(at),
            Some(_) => None,
            None if index.is_some() => None,
            None if !id.is_empty() => self.calls.iter().rposition(|call| call.raw.id == id),
            None if name.is_empty() => self.calls.len().checked_sub(1),
            None => None,
        }
    }
}
