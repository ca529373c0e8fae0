//! Reads an answer of OpenAI Chat Completions, from OpenAI and from similar servers.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::FORMAT;
use super::reasoning_details::Details;
use crate::domain::{StopReason, Usage};
use crate::llm::failure::{ApiError, Said};
use crate::llm::http::Event;
use crate::llm::provider::{Delta, Encoded, OnDelta, Reply};
use crate::llm::stream_decoder::{
    ContentBlock, Progress, RawCall, ReplyBuilder, StreamDecoder, cite, nonsense,
};
use crate::llm::tolerant::{count, counts, or_default};

/// Most calls of one answer; more are treated as invalid.
const MAX_CALLS: usize = 1_024;

/// The end of the stream.
const END: &str = "[DONE]";

/// An answer as far as it has been received.
#[derive(Debug, Default)]
pub(super) struct Completion {
    text: String,
    /// The model's thoughts, from servers that show them and require them back.
    reasoning: String,
    /// The field in which the server sent them.
    reasoning_field: ReasoningField,
    /// The thoughts in blocks, some of them encrypted: OpenRouter's way.
    reasoning_details: Details,
    refusal: bool,
    calls: Vec<Call>,
    finish: Option<String>,
    usage: Option<Usage>,
    citations: Vec<(String, String)>,
}

/// The field of a message in which a server sends the model's thoughts and requires them back.
#[derive(Clone, Copy, Debug, Default)]
enum ReasoningField {
    #[default]
    ReasoningContent,
    Reasoning,
}

impl ReasoningField {
    const fn name(self) -> &'static str {
        match self {
            Self::ReasoningContent => "reasoning_content",
            Self::Reasoning => "reasoning",
        }
    }
}

#[derive(Debug)]
struct Call {
    index: Option<u64>,
    raw: RawCall,
    braces: Braces,
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default, deserialize_with = "or_default")]
    choices: Vec<Choice>,
    #[serde(default, deserialize_with = "counts")]
    usage: Option<Counts>,
    #[serde(default)]
    error: Option<Value>,
    /// `error` from servers that send one in place of a chunk.
    #[serde(default)]
    object: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default, deserialize_with = "count")]
    index: Option<u64>,
    /// A piece of the answer, or all of it from a server that does not stream.
    #[serde(default, alias = "message")]
    delta: Option<Change>,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Change {
    content: Option<Content>,
    refusal: Option<String>,
    reasoning_content: Option<String>,
    reasoning: Option<String>,
    reasoning_details: Option<Vec<Value>>,
    annotations: Option<Vec<Annotation>>,
    tool_calls: Option<Vec<CallChange>>,
}

/// Text, or Mistral's list of parts; those with thinking have no text.
#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<ContentPart>),
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ContentPart {
    text: Option<String>,
}

impl Content {
    fn text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Parts(parts) => parts.into_iter().filter_map(|part| part.text).collect(),
        }
    }
}

/// A source of a search that the server made.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Annotation {
    url_citation: Option<UrlCitation>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct UrlCitation {
    title: Option<String>,
    url: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CallChange {
    #[serde(deserialize_with = "count")]
    index: Option<u64>,
    id: Option<String>,
    function: Option<FunctionChange>,
    /// Data that the server requires back with the call: Gemini's signature of it.
    extra_content: Option<Value>,
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
    #[serde(deserialize_with = "count")]
    prompt_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    completion_tokens: Option<u64>,
    #[serde(deserialize_with = "counts")]
    prompt_tokens_details: Option<PromptDetails>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PromptDetails {
    #[serde(deserialize_with = "count")]
    cached_tokens: Option<u64>,
}

impl Counts {
    /// Returns the usage; `None` if the request itself was not counted.
    fn usage(&self) -> Option<Usage> {
        let prompt = self.prompt_tokens?;
        let details = self.prompt_tokens_details.as_ref();
        let cached = details.and_then(|details| details.cached_tokens);
        let cache_read = cached.unwrap_or_default().min(prompt);
        Some(Usage {
            input: prompt - cache_read,
            output: self.completion_tokens.unwrap_or_default(),
            cache_read,
            cache_write: 0,
        })
    }
}

impl StreamDecoder for Completion {
    fn take(&mut self, event: &Event, on_delta: &mut OnDelta<'_>) -> Result<Progress, ApiError> {
        let data = event.data.trim();
        if data == END {
            // Some servers never give a reason. The end mark shows that the answer is complete.
            let has_content = !self.text.is_empty() || !self.calls.is_empty();
            return match self.finish {
                None if !has_content => Err(ApiError::cut()),
                _ => Ok(Progress::Done),
            };
        }
        let chunk: Chunk = serde_json::from_str(data).map_err(nonsense)?;
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            return Err(Said::read(&json!({ "error": error })).within_stream());
        }
        if chunk.object.is_some_and(|object| object == "error") {
            return Err(Said::read_bytes(data.as_bytes()).within_stream());
        }
        let mut progress = Progress::Nothing;
        if let Some(usage) = chunk.usage.and_then(|counts| counts.usage()) {
            self.usage = Some(usage);
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
            // Some servers give an empty reason with each piece.
            if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
                if reason == "error" {
                    return Err(Said::default().within_stream());
                }
                self.finish = Some(reason);
                progress = Progress::Content;
            }
        }
        Ok(progress)
    }

    /// Accepts an answer without an end mark if it has a finish reason: some servers leave the mark out.
    fn at_end(&self) -> Result<(), ApiError> {
        self.finish.as_ref().map(|_| ()).ok_or_else(ApiError::cut)
    }

    fn events_of(mut whole: Value) -> Vec<Value> {
        let choices = whole.get_mut("choices").and_then(Value::as_array_mut);
        for choice in choices.into_iter().flatten() {
            let is_whole = choice.get("message").is_some_and(Value::is_object);
            if is_whole && choice.get("finish_reason").is_none_or(Value::is_null) {
                choice["finish_reason"] = "stop".into();
            }
        }
        vec![whole]
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
        let mut draft = ReplyBuilder {
            usage: self.usage,
            citations: self.citations,
            ..ReplyBuilder::default()
        };
        if !self.calls.is_empty()
            && let Some(block) =
                thought(self.reasoning, self.reasoning_field, self.reasoning_details)
        {
            draft.blocks.push(ContentBlock::Opaque {
                block,
                text: String::new(),
            });
        }
        draft.blocks.push(ContentBlock::Text(self.text));
        draft.blocks.extend(
            self.calls
                .into_iter()
                .map(|call| ContentBlock::Call(call.raw)),
        );
        draft.finish(FORMAT, stop, request, request_id)
    }
}

/// Returns the model's thoughts in the form sent back with the calls after them.
fn thought(reasoning: String, field: ReasoningField, details: Details) -> Option<Value> {
    let mut block = Map::new();
    if !reasoning.is_empty() {
        block.insert(field.name().to_owned(), reasoning.into());
    }
    let details = details.whole();
    if !details.is_empty() {
        block.insert("reasoning_details".to_owned(), details.into());
    }
    (!block.is_empty()).then_some(Value::Object(block))
}

impl Completion {
    /// Adds a chunk; true if it has any content.
    fn change(&mut self, change: Change, on_delta: &mut OnDelta<'_>) -> Result<bool, ApiError> {
        let mut brings = false;
        for text in [
            change.content.map(Content::text),
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
        // A server that sends both sends the same text in both.
        let thought = match (change.reasoning_content, change.reasoning) {
            (Some(text), _) => text,
            (None, Some(text)) => {
                if !text.is_empty() {
                    self.reasoning_field = ReasoningField::Reasoning;
                }
                text
            }
            (None, None) => String::new(),
        };
        self.reasoning.push_str(&thought);
        let details = change.reasoning_details.unwrap_or_default();
        if !thought.is_empty() || !details.is_empty() {
            on_delta(Delta::Thinking);
            brings = true;
        }
        self.reasoning_details.add(details)?;
        let sources = change.annotations.unwrap_or_default().into_iter();
        for source in sources.filter_map(|source| source.url_citation) {
            let url = source.url.unwrap_or_default();
            cite(
                &mut self.citations,
                source.title.as_deref().unwrap_or(&url),
                &url,
            );
        }
        for call in change.tool_calls.unwrap_or_default() {
            brings |= self.change_call(call, on_delta)?;
        }
        Ok(brings)
    }

    /// Adds to a call, which its index identifies. A server without indexes sends each call whole, or continues the
    /// last one.
    fn change_call(
        &mut self,
        change: CallChange,
        on_delta: &mut OnDelta<'_>,
    ) -> Result<bool, ApiError> {
        let function = change.function.unwrap_or_default();
        let id = change.id.unwrap_or_default();
        let name = function.name.unwrap_or_default();
        let arguments = match function.arguments {
            Some(Value::String(text)) => text,
            Some(Value::Null) | None => String::new(),
            // From a server that sends them whole; anything except an object is not run, and the model gets an error.
            Some(whole) => whole.to_string(),
        };
        let known = self.place(change.index, &id, &name);
        if known.is_some_and(|at| self.calls[at].has_exactly(&arguments)) {
            // Some servers end with the whole call again.
            return Ok(true);
        }
        let is_another = |at: &usize| self.calls[*at].braces.are_closed() && is_object(&arguments);
        let at = match known.filter(|at| !is_another(at)) {
            Some(at) => at,
            None if self.calls.len() >= MAX_CALLS => {
                return Err(ApiError::invalid("the answer makes too many calls"));
            }
            None => {
                on_delta(Delta::ToolCall(&name));
                self.calls.push(Call {
                    index: change.index,
                    raw: RawCall::default(),
                    braces: Braces::default(),
                });
                self.calls.len() - 1
            }
        };
        let Call { raw, braces, .. } = &mut self.calls[at];
        if let Some(extra) = change.extra_content.filter(|extra| !extra.is_null()) {
            raw.beside = Some(json!({ "extra_content": extra }));
        }
        if raw.id.is_empty() {
            raw.id.clone_from(&id);
        }
        if raw.name.is_empty() {
            raw.name.clone_from(&name);
        }
        braces.read(&arguments);
        raw.arguments.push_str(&arguments);
        Ok(!(id.is_empty() && name.is_empty() && arguments.is_empty()))
    }

    /// Returns the call that a change belongs to; `None` if it begins a new one.
    ///
    /// Some servers give every call the index 0: another id at a known index is another call, and so is a further name
    /// after complete arguments.
    fn place(&self, index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let is_other = |call: &Call| {
            let known = &call.raw;
            let other_id = !id.is_empty() && !known.id.is_empty() && known.id != id;
            let further = id.is_empty() && !name.is_empty() && !known.name.is_empty();
            other_id || further && call.braces.are_closed()
        };
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

impl Call {
    /// Returns whether its arguments are complete and equal to `arguments`.
    fn has_exactly(&self, arguments: &str) -> bool {
        let (known, new) = (self.raw.arguments.trim(), arguments.trim());
        self.braces.are_closed() && known.len() > EMPTY.len() && known == new
    }
}

/// The arguments of a call without any.
const EMPTY: &str = "{}";

/// Returns whether `piece` is a whole object with content.
fn is_object(piece: &str) -> bool {
    let mut braces = Braces::default();
    braces.read(piece);
    braces.are_closed() && piece.trim().len() > EMPTY.len()
}

/// Whether the received part of a JSON object is the whole object, so that nothing can be added to it.
///
/// It is read once, piece by piece. Parsing everything again at each piece would take quadratic time.
#[derive(Debug, Default)]
struct Braces {
    /// Open objects and lists.
    open: usize,
    in_text: bool,
    /// The next character is escaped by a backslash.
    escaped: bool,
    state: Object,
}

/// How far an object has been received.
#[derive(Debug, Default, PartialEq, Eq)]
enum Object {
    #[default]
    NotBegun,
    Open,
    Closed,
    /// It is not an object, or text follows it.
    Broken,
}

impl Braces {
    fn read(&mut self, piece: &str) {
        for byte in piece.bytes() {
            if self.in_text {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => self.in_text = false,
                    _ => {}
                }
                continue;
            }
            match (byte, &self.state) {
                (b' ' | b'\t' | b'\n' | b'\r', _) | (_, Object::Broken) => {}
                (b'{', Object::NotBegun) => {
                    self.state = Object::Open;
                    self.open = 1;
                }
                (_, Object::NotBegun | Object::Closed) => self.state = Object::Broken,
                (b'{' | b'[', Object::Open) => self.open += 1,
                (b'}' | b']', Object::Open) => {
                    self.open -= 1;
                    if self.open == 0 {
                        self.state = Object::Closed;
                    }
                }
                (b'"', Object::Open) => self.in_text = true,
                (_, Object::Open) => {}
            }
        }
    }

    fn are_closed(&self) -> bool {
        self.state == Object::Closed
    }
}
