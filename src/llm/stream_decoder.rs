//! Shared by all wire formats that read an answer: from events to a [`Reply`].

use std::collections::HashSet;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::arguments;
use super::failure::ApiError;
use super::history;
use super::http::Event;
use super::provider::{Encoded, OnDelta, Reply, TruncatedCall};
use super::tokens;
use crate::domain::json_values::{MOST_VALUES, ValuesLeft};
use crate::domain::{Assistant, CallId, OpaqueBlock, StopReason, ToolCall, Usage};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Not part of the answer: a ping, or an unknown event.
    Nothing,
    Content,
    /// The end of the answer.
    Done,
}

/// Reads one answer in one wire format. Pure: bytes, time and the network are elsewhere.
pub(super) trait StreamDecoder: Send {
    fn take(&mut self, event: &Event, on_delta: &mut OnDelta<'_>) -> Result<Progress, ApiError>;

    /// Handles a stream that ended without [`Progress::Done`]. Only a format without an end mark may accept that as
    /// complete.
    fn at_end(&self) -> Result<(), ApiError> {
        Err(ApiError::cut())
    }

    /// Returns the events that a stream would have had, for an answer that came whole as JSON.
    fn events_of(whole: Value) -> Vec<Value> {
        vec![whole]
    }

    /// Returns the tokens counted so far, for an answer that fails later and is paid for anyway.
    fn usage(&self) -> Option<Usage>;

    fn reply(self, request: &Encoded, request_id: Option<String>) -> Reply;
}

/// Reads an event with its kind in `type`, or with its own name as the kind if that is missing.
pub(super) fn tagged<T: DeserializeOwned>(event: &Event) -> Result<T, ApiError> {
    let read = serde_json::from_str(&event.data).or_else(|error| {
        let mut value: Value = serde_json::from_str(&event.data)?;
        match &mut value {
            Value::Object(fields) if !fields.contains_key("type") => {
                fields.insert("type".to_owned(), event.name.clone().into());
                serde_json::from_value(value)
            }
            _ => Err(error),
        }
    });
    read.map_err(nonsense)
}

/// Returns the error for an event that cannot be read.
pub(super) fn nonsense(error: serde_json::Error) -> ApiError {
    ApiError::invalid(format!("an event of the answer cannot be read ({error})"))
}

/// One block of an answer, in the order of the answer.
#[derive(Debug)]
pub(super) enum ContentBlock {
    Text(String),
    Call(RawCall),
    /// An opaque block, and the text that it shows, if any.
    Opaque {
        block: Value,
        text: String,
    },
}

/// A call as it was sent, not yet checked.
#[derive(Debug, Default)]
pub(super) struct RawCall {
    /// Its id; may be empty or used twice.
    pub(super) id: String,
    pub(super) name: String,
    /// JSON, if it is complete.
    pub(super) arguments: String,
    /// The block directly before the call, which is sent back with it.
    pub(super) beside: Option<Value>,
    /// Its provider reports that it is incomplete.
    pub(super) cut: bool,
}

/// The blocks of an answer, before they become a [`Reply`].
#[derive(Debug, Default)]
pub(super) struct ReplyBuilder {
    pub(super) blocks: Vec<ContentBlock>,
    pub(super) citations: Vec<(String, String)>,
    pub(super) usage: Option<Usage>,
}

/// Most sources of one answer that are kept. These are several times the number shown to people, and few enough to
/// compare each further one with all of them cheaply.
const MAX_CITATIONS: usize = 256;

/// Adds a source to `citations`, unless it is already there.
pub(super) fn cite(citations: &mut Vec<(String, String)>, title: &str, url: &str) {
    let is_new = || !citations.iter().any(|(_, known)| known == url);
    if !url.is_empty() && citations.len() < MAX_CITATIONS && is_new() {
        citations.push((title.to_owned(), url.to_owned()));
    }
}

impl ReplyBuilder {
    /// Adds a source, unless it is already there.
    pub(super) fn cite(&mut self, title: &str, url: &str) {
        cite(&mut self.citations, title, url);
    }

    /// Creates the reply: checks that calls are complete, gives them ids, records the positions of opaque blocks.
    pub(super) fn finish(
        self,
        format: &str,
        stop: StopReason,
        request: &Encoded,
        request_id: Option<String>,
    ) -> Reply {
        let mut calls = Calls::new(stop, &self.blocks);
        let mut assistant = Assistant {
            model: Some(request.model.clone()),
            ..Assistant::default()
        };
        let mut position = 0;
        let opaque = |index, block| OpaqueBlock {
            format: format.to_owned(),
            index,
            block,
        };
        for (at, piece) in self.blocks.into_iter().enumerate() {
            match piece {
                ContentBlock::Text(text) => {
                    position += usize::from(!text.is_empty() && assistant.text.is_empty());
                    assistant.text.push_str(&text);
                }
                ContentBlock::Opaque { block, text } => {
                    assistant.text.push_str(&text);
                    assistant.opaque.push(opaque(position, block));
                    position += 1;
                }
                ContentBlock::Call(mut raw) => {
                    let beside = raw.beside.take();
                    if let Some(call) = calls.proved(at, raw) {
                        if let Some(block) = beside {
                            assistant.opaque.push(opaque(position, block));
                            position += 1;
                        }
                        assistant.tool_calls.push(call);
                        position += 1;
                    }
                }
            }
        }
        let usage = self.usage.unwrap_or_else(|| estimated(request, &assistant));
        assistant.usage = Some(usage);
        let stop = match stop {
            StopReason::EndTurn | StopReason::ToolUse if assistant.tool_calls.is_empty() => {
                StopReason::EndTurn
            }
            StopReason::EndTurn => StopReason::ToolUse,
            other => other,
        };
        Reply {
            assistant,
            stop,
            usage,
            request_id,
            citations: self.citations,
            truncated_calls: calls.cut,
        }
    }
}

/// Estimates the usage for a provider that counts nothing: an estimate is better than zero.
fn estimated(request: &Encoded, assistant: &Assistant) -> Usage {
    Usage {
        input: request.body.len() as u64 / 4,
        output: tokens::of_item(&crate::domain::Item::Assistant(assistant.clone())),
        ..Usage::default()
    }
}

/// Deepest nesting of arguments that may run: the ledger and session files add a few levels, and our JSON readers
/// accept at most 128.
const MAX_DEPTH: usize = 64;

/// Sorts calls into those that may run and those that may not.
struct Calls {
    stop: StopReason,
    /// The last block that is a call: the one that a limit cut off.
    last: Option<usize>,
    ids: HashSet<String>,
    values_left: ValuesLeft,
    cut: Vec<TruncatedCall>,
}

/// Why a call must not run.
#[derive(Debug, thiserror::Error)]
enum NotRun {
    #[error(
        "the answer reached its length limit, so its arguments may be cut. Send it again, shorter or in several calls."
    )]
    LengthLimit,
    #[error("the answer was refused.")]
    Refused,
    #[error("it was cut off before its end. Send it again.")]
    CutOff,
    #[error("it names no tool.")]
    NoName,
    #[error("its arguments are nested deeper than {MAX_DEPTH} levels.")]
    TooDeep,
    #[error("the calls of an answer may have {MOST_VALUES} values in all.")]
    TooMany,
    #[error("its arguments are not a JSON object.")]
    NoObject,
    #[error("its arguments are not valid JSON ({0}).")]
    NoJson(#[from] serde_json::Error),
}

impl NotRun {
    /// Returns the message to the model about its call of the tool `name`.
    fn told(&self, name: &str) -> String {
        if let Self::NoName = self {
            return "A call without a tool's name was not run. Name the tool.".to_owned();
        }
        format!("The call of {name} was not run: {self}")
    }
}

impl Calls {
    fn new(stop: StopReason, blocks: &[ContentBlock]) -> Self {
        Self {
            stop,
            last: blocks
                .iter()
                .rposition(|piece| matches!(piece, ContentBlock::Call(_))),
            ids: HashSet::new(),
            values_left: ValuesLeft::default(),
            cut: Vec::new(),
        }
    }

    /// Returns the call if it is complete; otherwise adds it to those that must not run.
    fn proved(&mut self, at: usize, raw: RawCall) -> Option<ToolCall> {
        let id = CallId(self.own_id(&raw.id));
        match self.checked(at, &raw) {
            Ok(arguments) => Some(ToolCall {
                id,
                name: raw.name,
                arguments,
            }),
            Err(error) => {
                self.cut.push(TruncatedCall {
                    id,
                    why: error.told(&raw.name),
                    name: raw.name,
                    is_text: false,
                });
                None
            }
        }
    }

    fn checked(&mut self, at: usize, raw: &RawCall) -> Result<Map<String, Value>, NotRun> {
        match self.stop {
            StopReason::MaxTokens | StopReason::ContextExceeded if self.last == Some(at) => {
                return Err(NotRun::LengthLimit);
            }
            StopReason::Refusal => return Err(NotRun::Refused),
            StopReason::EndTurn
            | StopReason::ToolUse
            | StopReason::MaxTokens
            | StopReason::Pause
            | StopReason::ContextExceeded => {}
        }
        if raw.cut {
            return Err(NotRun::CutOff);
        }
        if raw.name.is_empty() {
            return Err(NotRun::NoName);
        }
        if !self.values_left.take(&raw.arguments) {
            return Err(NotRun::TooMany);
        }
        match arguments::read(&raw.arguments)? {
            Value::Object(arguments) if arguments.values().any(|value| is_deep(value, 1)) => {
                Err(NotRun::TooDeep)
            }
            Value::Object(arguments) => Ok(arguments),
            _ => Err(NotRun::NoObject),
        }
    }

    /// Returns `id` if it is valid and unused, or a random id: providers leave ids out, repeat them, or use ids that
    /// others refuse.
    fn own_id(&mut self, id: &str) -> String {
        if history::is_sound_id(id) && self.ids.insert(id.to_owned()) {
            return id.to_owned();
        }
        random_id()
    }
}

/// Returns whether `value`, itself `depth` levels down, is nested deeper than arguments may be.
fn is_deep(value: &Value, depth: usize) -> bool {
    match value {
        Value::Array(list) => {
            depth >= MAX_DEPTH || list.iter().any(|value| is_deep(value, depth + 1))
        }
        Value::Object(map) => {
            depth >= MAX_DEPTH || map.values().any(|value| is_deep(value, depth + 1))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Returns an id that no other call has.
pub(crate) fn random_id() -> String {
    format!("call_{}", &Uuid::new_v4().simple().to_string()[..24])
}
