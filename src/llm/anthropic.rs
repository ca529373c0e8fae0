//! Anthropic Messages.

mod event;
mod stream;
mod thinking;

use std::borrow::Cow;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use self::thinking::Thinking;
use super::error::LlmError;
use super::http::Endpoint;
use super::listing::Listing;
use super::parts::{self, Part, encoded, in_order, inexpressible, kind, wire_id};
use super::pictures::PictureBounds;
use super::provider::{Encoded, OnDelta, Provider, Reply, Request};
use super::quirks::{Quirk, Quirks};
use crate::domain::{Assistant, Image, Item, ToolResult, UserText};

/// The version of the wire format that the code was written for.
const VERSION: &str = "2023-06-01";

/// Most pages that are read of the list of models.
const MAX_PAGES: usize = 20;

/// A server that speaks Anthropic Messages; its base URL does not include `/v1`.
#[derive(Debug)]
pub struct Anthropic {
    endpoint: Endpoint,
}

impl Anthropic {
    pub fn new(endpoint: Endpoint) -> Self {
        Self { endpoint }
    }

    fn headers(&self) -> Result<HeaderMap, LlmError> {
        let mut headers = self.endpoint.key_header("x-api-key", "")?;
        headers.insert(
            HeaderName::from_static("anthropic-version"),
            HeaderValue::from_static(VERSION),
        );
        Ok(headers)
    }
}

#[async_trait::async_trait]
impl Provider for Anthropic {
    fn name(&self) -> &str {
        &self.endpoint.name
    }

    fn encode(&self, request: &Request) -> Result<Encoded, LlmError> {
        encode(self.name(), request)
    }

    async fn stream(&self, body: &Encoded, on_delta: &mut OnDelta<'_>) -> Result<Reply, LlmError> {
        let reading = stream::Messages::default();
        self.endpoint
            .stream("/v1/messages", self.headers()?, body, reading, on_delta)
            .await
    }

    /// Returns the bounds: at most 100 pictures and 32 MB per request.
    fn picture_bounds(&self) -> PictureBounds {
        PictureBounds {
            count: 100,
            bytes: 24 << 20,
        }
    }

    async fn list_models(&self) -> Result<Listing, LlmError> {
        let mut models = Vec::new();
        let mut after = String::new();
        for _ in 0..MAX_PAGES {
            let page = self
                .endpoint
                .get(&format!("/v1/models?limit=1000{after}"), self.headers()?)
                .await?;
            let ids = super::listing::ids(&page, "data", "id");
            models.extend(ids.map_err(|fault| self.endpoint.error(fault, None))?);
            let more = page
                .get("has_more")
                .and_then(Value::as_bool)
                .unwrap_or_default();
            let last = page.get("last_id").and_then(Value::as_str);
            match last {
                Some(last) if more => after = format!("&after_id={last}"),
                _ => break,
            }
        }
        Ok(models.into())
    }
}

/// The name of this wire format on opaque blocks.
pub(super) const FORMAT: &str = "anthropic";

/// Most searches that one answer may make.
const MAX_SEARCHES: u32 = 5;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Block<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(flatten)]
    thinking: Thinking,
    messages: Vec<Message<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Tool<'a> {
    Search {
        #[serde(rename = "type")]
        kind: &'static str,
        name: &'static str,
        max_uses: u32,
    },
    Function {
        name: &'a str,
        description: &'a str,
        input_schema: &'a RawValue,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
}

#[derive(Serialize)]
struct Message<'a> {
    role: Role,
    content: Vec<Block<'a>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    User,
    Assistant,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Image {
        source: Source<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    ToolUse {
        id: String,
        name: &'a str,
        input: &'a Map<String, Value>,
    },
    ToolResult {
        tool_use_id: String,
        content: Vec<Block<'a>>,
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    #[serde(untagged)]
    Opaque(&'a Value),
}

#[derive(Clone, Copy, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum CacheControl {
    Ephemeral,
}

#[derive(Serialize)]
struct Source<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    media_type: &'a str,
    data: &'a str,
}

fn encode(provider: &str, request: &Request) -> Result<Encoded, LlmError> {
    let mut messages = messages(request);
    if messages.is_empty() {
        return Err(inexpressible(provider, "there is nothing to send"));
    }
    let marks = !request.quirks.has(Quirk::NoCacheMarks);
    if marks {
        set_breakpoints(&mut messages);
    }
    let mut system: Vec<_> = request
        .system
        .iter()
        .filter(|part| !part.trim().is_empty())
        .map(|part| text(part))
        .collect();
    if let Some(last) = system.last_mut().filter(|_| marks) {
        last.set_breakpoint();
    }
    let body = Body {
        model: &request.model,
        max_tokens: request.max_output_tokens,
        stream: true,
        system,
        tools: tools(request),
        thinking: thinking::asked(request, goes_on_unthought(&messages)),
        messages,
    };
    let changed_by = Quirks::from([
        (Quirk::NoCacheMarks, marks),
        (Quirk::NoThinking, body.thinking.is_any()),
        (Quirk::NoWebSearch, request.web_search),
    ]);
    encoded(provider, FORMAT, &request.model, changed_by, &body)
}

/// Returns whether the request continues with calls that were made without thinking, by another model or before it was
/// enabled: the provider refuses to begin to think in the middle of a step.
fn goes_on_unthought(messages: &[Message<'_>]) -> bool {
    let answers_calls = messages.last().is_some_and(|last| {
        let result = |block: &Block<'_>| matches!(block, Block::ToolResult { .. });
        last.content.iter().any(result)
    });
    let mut answers = messages
        .iter()
        .rev()
        .filter(|message| message.role == Role::Assistant);
    let thought = answers.next().is_some_and(|answer| {
        let first = answer.content.first();
        matches!(first, Some(Block::Opaque(block)) if is_thinking(block))
    });
    answers_calls && !thought
}

fn is_thinking(block: &Value) -> bool {
    matches!(kind(block), "thinking" | "redacted_thinking")
}

fn tools(request: &Request) -> Vec<Tool<'_>> {
    let searches = request.web_search && !request.quirks.has(Quirk::NoWebSearch);
    let marks = !request.quirks.has(Quirk::NoCacheMarks);
    let search = searches.then_some(Tool::Search {
        kind: "web_search_20250305",
        name: "web_search",
        max_uses: MAX_SEARCHES,
    });
    let last = request.tools.len().saturating_sub(1);
    let functions = request.tools.iter().enumerate();
    let functions = functions.map(|(at, tool)| Tool::Function {
        name: &tool.name,
        description: &tool.description,
        input_schema: &tool.parameters,
        cache_control: (marks && at == last).then_some(CacheControl::Ephemeral),
    });
    search.into_iter().chain(functions).collect()
}

/// Joins neighbours of one role into one message: results of parallel calls must come together.
fn messages(request: &Request) -> Vec<Message<'_>> {
    let mut messages: Vec<Message<'_>> = Vec::new();
    for item in request.items.iter() {
        let (role, content) = match item {
            Item::User(user) => (Role::User, user_blocks(user, request)),
            Item::Assistant(answer) => (Role::Assistant, answer_blocks(answer, request)),
            Item::ToolResult(result) => (Role::User, vec![result_block(result, request)]),
        };
        match messages.last_mut() {
            _ if content.is_empty() => {}
            Some(last) if last.role == role => last.content.extend(content),
            _ => messages.push(Message { role, content }),
        }
    }
    trim_last_answer(&mut messages);
    messages
}

/// Trims an answer that ends the request: the model continues it, so it must not end in white space.
fn trim_last_answer(messages: &mut [Message<'_>]) {
    let Some(Message {
        role: Role::Assistant,
        content,
    }) = messages.last_mut()
    else {
        return;
    };
    if let Some(Block::Text { text, .. }) = content.last_mut() {
        *text = Cow::Owned(text.trim_end().to_owned());
    }
}

fn user_blocks<'a>(user: &'a UserText, request: &Request) -> Vec<Block<'a>> {
    let words = |words| Block::Text {
        text: Cow::Owned(words),
        cache_control: None,
    };
    parts::said(user, |picture| image(picture, request), words)
}

fn answer_blocks<'a>(answer: &'a Assistant, request: &Request) -> Vec<Block<'a>> {
    let shows_text = |block: &Value| kind(block) == "text";
    let parts = in_order(answer, FORMAT, request, shows_text, is_thinking);
    let block = |part: Part<'a>| match part {
        Part::Opaque(block) => Block::Opaque(block),
        Part::Text(words) => text(words),
        // A call may be sent back only together with the tools; without them it is written as text.
        Part::Call(call) if request.tools.is_empty() => {
            let arguments = Value::Object(call.arguments.clone());
            Block::Text {
                text: Cow::Owned(format!("[called {} with {arguments}]", call.name)),
                cache_control: None,
            }
        }
        Part::Call(call) => Block::ToolUse {
            id: wire_id(&call.id),
            name: &call.name,
            input: &call.arguments,
        },
    };
    let is_whole = |part: &Part<'_>| !matches!(part, Part::Opaque(block) if is_torn(block));
    parts.into_iter().filter(is_whole).map(block).collect()
}

/// Returns whether a block is missing fields that the provider sent, for example because a session's file was edited:
/// with one such block every request is refused.
fn is_torn(block: &Value) -> bool {
    let lacks = |key: &str| !block[key].is_string();
    match kind(block) {
        "thinking" => lacks("thinking") || lacks("signature"),
        "redacted_thinking" => lacks("data"),
        kind => kind.is_empty(),
    }
}

fn result_block<'a>(result: &'a ToolResult, request: &Request) -> Block<'a> {
    if request.tools.is_empty() {
        let words = format!("[{} gave: {}]", result.name, result.content);
        return Block::Text {
            text: Cow::Owned(words),
            cache_control: None,
        };
    }
    let mut content = Vec::new();
    if !result.content.trim().is_empty() {
        content.push(text(&result.content));
    }
    content.extend(result.images.iter().map(|picture| image(picture, request)));
    Block::ToolResult {
        tool_use_id: wire_id(&result.call_id),
        content,
        is_error: result.is_error,
        cache_control: None,
    }
}

fn text(words: &str) -> Block<'_> {
    Block::Text {
        text: Cow::Borrowed(words),
        cache_control: None,
    }
}

fn image<'a>(image: &'a Image, request: &Request) -> Block<'a> {
    if let Some(note) = request.instead_of(image) {
        return Block::Text {
            text: Cow::Owned(note),
            cache_control: None,
        };
    }
    let source = Source {
        kind: "base64",
        media_type: &image.media_type,
        data: &image.data,
    };
    Block::Image {
        source,
        cache_control: None,
    }
}

/// Marks the tail, and the tail of the request before it, so that a step with many blocks still finds the cache.
fn set_breakpoints(messages: &mut [Message<'_>]) {
    let users = messages
        .iter_mut()
        .rev()
        .filter(|message| message.role == Role::User);
    for message in users.take(2) {
        if let Some(last) = message.content.last_mut() {
            last.set_breakpoint();
        }
    }
}

impl Block<'_> {
    fn set_breakpoint(&mut self) {
        match self {
            Self::Text { cache_control, .. }
            | Self::Image { cache_control, .. }
            | Self::ToolResult { cache_control, .. } => {
                *cache_control = Some(CacheControl::Ephemeral)
            }
            Self::ToolUse { .. } | Self::Opaque(_) => {}
        }
    }
}
