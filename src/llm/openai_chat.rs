//! OpenAI Chat Completions, which OpenAI and most other servers speak.

mod abilities;
mod reasoning_details;
mod stream;

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::error::LlmError;
use super::gemini;
use super::http::Endpoint;
use super::listing::{self, Listing};
use super::parts::{
    self, Part, data_url, encoded, in_order, inexpressible, is_openai_reasoning, wire_id,
};
use super::provider::{Encoded, OnDelta, Provider, Reply, Request, ToolSchema};
use crate::config::Effort;
use crate::domain::{Assistant, Image, Item, ToolCall, ToolResult, UserText};

/// A server that speaks Chat Completions; its base URL is with `/v1`, where it has one.
#[derive(Debug)]
pub struct OpenAiChat {
    endpoint: Endpoint,
    /// How the server reports the window with which it loaded a model, once that was found out.
    loader: OnceCell<Option<abilities::Loader>>,
}

impl OpenAiChat {
    pub fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            loader: OnceCell::new(),
        }
    }
}

#[async_trait::async_trait]
impl Provider for OpenAiChat {
    fn name(&self) -> &str {
        &self.endpoint.name
    }

    fn encode(&self, request: &Request) -> Result<Encoded, LlmError> {
        encode(&self.endpoint, request)
    }

    async fn stream(&self, body: &Encoded, on_delta: &mut OnDelta<'_>) -> Result<Reply, LlmError> {
        let headers = self.endpoint.key_header("authorization", "Bearer ")?;
        let reading = stream::Completion::default();
        self.endpoint
            .stream("/chat/completions", headers, body, reading, on_delta)
            .await
    }

    async fn list_models(&self) -> Result<Listing, LlmError> {
        list_models(&self.endpoint).await
    }

    async fn loaded_window(&self, model: &str) -> Option<u64> {
        let endpoint = &self.endpoint;
        let loader = self.loader.get_or_init(|| abilities::loader(endpoint));
        abilities::loaded_window(endpoint, (*loader.await)?, model).await
    }
}

/// OpenAI itself.
const OPENAI: &str = "api.openai.com";

/// The models that an OpenAI-like server lists, and what it says about them; of OpenAI's own only those that chat.
pub(super) async fn list_models(endpoint: &Endpoint) -> Result<Listing, LlmError> {
    let headers = endpoint.key_header("authorization", "Bearer ")?;
    let page = endpoint.get("/models", headers).await?;
    let ids = listing::ids(&page, "data", "id").map_err(|fault| endpoint.error(fault, None))?;
    if endpoint.is_at(OPENAI) {
        return Ok(listing::chat_models(ids).into());
    }
    Ok(abilities::listing(endpoint, &page, ids).await)
}

/// The name of this wire format on opaque blocks.
pub(super) const FORMAT: &str = "openai_chat";

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<Message<'a>>,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a RawValue,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Message<'a> {
    System {
        content: Cow<'a, str>,
    },
    User {
        content: Content<'a>,
    },
    Assistant {
        content: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_details: Option<&'a Value>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Value>,
    },
    Tool {
        tool_call_id: String,
        content: &'a str,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Value>),
}

fn encode(endpoint: &Endpoint, request: &Request) -> Result<Encoded, LlmError> {
    let mut messages = system(request);
    let before = messages.len();
    add_conversation(&mut messages, request, endpoint);
    if messages.len() == before {
        return Err(inexpressible(&endpoint.name, "there is nothing to send"));
    }
    let new_limit = takes_new_limit(&endpoint.base_url, &request.model);
    let limit = request.max_output_tokens;
    let body = Body {
        model: &request.model,
        messages,
        stream: true,
        stream_options: StreamOptions {
            include_usage: true,
        },
        max_tokens: (!new_limit).then_some(limit),
        max_completion_tokens: new_limit.then_some(limit),
        reasoning_effort: request.thinking.map(Effort::as_str),
        tools: request.tools.iter().map(tool).collect(),
    };
    encoded(&endpoint.name, FORMAT, &request.model, &body)
}

/// OpenAI's reasoning models refuse `max_tokens`; many other servers know only that.
fn takes_new_limit(base_url: &str, model: &str) -> bool {
    base_url.contains(OPENAI) || is_openai_reasoning(model)
}

/// One message: several servers accept only one, and only at the beginning.
fn system(request: &Request) -> Vec<Message<'_>> {
    let parts: Vec<&str> = request
        .system
        .iter()
        .map(String::as_str)
        .filter(|part| !part.trim().is_empty())
        .collect();
    match parts.as_slice() {
        [] => Vec::new(),
        [only] => vec![Message::System {
            content: Cow::Borrowed(only),
        }],
        several => vec![Message::System {
            content: Cow::Owned(several.join("\n\n")),
        }],
    }
}

fn add_conversation<'a>(
    messages: &mut Vec<Message<'a>>,
    request: &'a Request,
    endpoint: &Endpoint,
) {
    // Pictures of results, for which the format has no place: sent in a user message after the last result.
    let mut pictures: Vec<&Image> = Vec::new();
    for item in request.items.iter() {
        if !matches!(item, Item::ToolResult(_)) {
            show(messages, &mut pictures, request);
        }
        match item {
            Item::User(user) => add_said(messages, said(user, request)),
            Item::Assistant(answer) => messages.extend(answered(answer, request, endpoint)),
            Item::ToolResult(ToolResult {
                call_id,
                content,
                images,
                ..
            }) => {
                messages.push(Message::Tool {
                    tool_call_id: wire_id(call_id),
                    content,
                });
                pictures.extend(images);
            }
        }
    }
    show(messages, &mut pictures, request);
}

/// Adds a message. Neighbours of one role are joined: templates of some local models accept the roles only in turns.
fn add_said<'a>(messages: &mut Vec<Message<'a>>, said: Option<Message<'a>>) {
    let (last, new) = match (messages.last_mut(), said) {
        (Some(Message::User { content: last }), Some(Message::User { content: new })) => {
            (last, new)
        }
        (_, said) => {
            messages.extend(said);
            return;
        }
    };
    *last = match (std::mem::take(last), new) {
        (Content::Text(before), Content::Text(after)) => {
            Content::Text(Cow::Owned(format!("{before}\n\n{after}")))
        }
        (before, after) => {
            let mut parts = before.into_parts();
            parts.extend(after.into_parts());
            Content::Parts(parts)
        }
    };
}

impl Content<'_> {
    fn into_parts(self) -> Vec<Value> {
        match self {
            Self::Text(text) => vec![json!({"type": "text", "text": text})],
            Self::Parts(parts) => parts,
        }
    }
}

impl Default for Content<'_> {
    fn default() -> Self {
        Self::Parts(Vec::new())
    }
}

fn show(messages: &mut Vec<Message<'_>>, pictures: &mut Vec<&Image>, request: &Request) {
    if pictures.is_empty() {
        return;
    }
    let mut parts = vec![json!({"type": "text", "text": "[pictures of the results above]"})];
    parts.extend(pictures.drain(..).map(|picture| image(picture, request)));
    messages.push(Message::User {
        content: Content::Parts(parts),
    });
}

fn said<'a>(user: &'a UserText, request: &Request) -> Option<Message<'a>> {
    if user.images.is_empty() {
        let words = user.for_model();
        let is_said = !words.trim().is_empty();
        let content = Content::Text(Cow::Owned(words));
        return is_said.then_some(Message::User { content });
    }
    let parts = parts::said(
        user,
        |picture| image(picture, request),
        |words| json!({"type": "text", "text": words}),
    );
    Some(Message::User {
        content: Content::Parts(parts),
    })
}

fn answered<'a>(
    answer: &'a Assistant,
    request: &Request,
    endpoint: &Endpoint,
) -> Option<Message<'a>> {
    let text = Some(answer.text.as_str()).filter(|text| !text.trim().is_empty());
    let tool_calls = calls(answer, request);
    if text.is_none() && tool_calls.is_empty() {
        return None;
    }
    let thought = thought(answer, request);
    let field = |name: &str| thought.and_then(|block| block.get(name));
    let stand_in = (!tool_calls.is_empty() && wants_thoughts(endpoint, &request.model))
        .then_some(FOREIGN_THOUGHTS);
    Some(Message::Assistant {
        content: text,
        reasoning_content: field("reasoning_content")
            .and_then(Value::as_str)
            .or(stand_in),
        reasoning: field("reasoning").and_then(Value::as_str),
        reasoning_details: field("reasoning_details"),
        tool_calls,
    })
}

/// Stands for the thoughts before the calls of another model.
const FOREIGN_THOUGHTS: &str = "(not available)";

/// Whether the server refuses calls without the thoughts before them: DeepSeek and Moonshot do while their models think.
fn wants_thoughts(endpoint: &Endpoint, model: &str) -> bool {
    let names = |text: &str| {
        let text = text.to_ascii_lowercase();
        ["deepseek", "moonshot", "kimi"]
            .iter()
            .any(|name| text.contains(name))
    };
    names(&endpoint.base_url) || names(model)
}

/// What the model thought before its calls, for servers that want it back with them.
fn thought<'a>(answer: &'a Assistant, request: &Request) -> Option<&'a Value> {
    let is_own = answer.model.as_deref() == Some(request.model.as_str());
    let is_thought = |block: &Value| block.get(EXTRA).is_none();
    let mut blocks = answer.opaque.iter().filter(|block| block.format == FORMAT);
    let block = blocks.find(|block| is_thought(&block.block))?;
    (is_own && !answer.tool_calls.is_empty()).then_some(&block.block)
}

/// The field of a call with what its server wants back.
const EXTRA: &str = "extra_content";

/// The calls of an answer, each with what its server wants back with it.
fn calls(answer: &Assistant, request: &Request) -> Vec<Value> {
    let mut calls = Vec::with_capacity(answer.tool_calls.len());
    let mut extra: Option<&Value> = None;
    for part in in_order(answer, FORMAT, &request.model, |_| false, |_| false) {
        match part {
            Part::Opaque(block) => extra = block.get(EXTRA).or(extra),
            Part::Text(_) => {}
            Part::Call(one) => {
                let mut wire = call(one);
                if let Some(extra) = extra.take() {
                    wire[EXTRA] = extra.clone();
                } else if calls.is_empty() && gemini::wants_signatures(last_name(&request.model)) {
                    let signature = gemini::FOREIGN_SIGNATURE;
                    wire[EXTRA] = json!({"google": {"thought_signature": signature}});
                }
                calls.push(wire);
            }
        }
    }
    calls
}

/// The name of a model without its maker: `gemini-3-pro` of `google/gemini-3-pro`.
fn last_name(model: &str) -> &str {
    model.rsplit('/').next().unwrap_or(model)
}

fn call(call: &ToolCall) -> Value {
    let arguments = Value::Object(call.arguments.clone()).to_string();
    let function = json!({"name": call.name, "arguments": arguments});
    json!({"id": wire_id(&call.id), "type": "function", "function": function})
}

fn tool(tool: &ToolSchema) -> Tool<'_> {
    Tool {
        kind: "function",
        function: Function {
            name: &tool.name,
            description: &tool.description,
            parameters: &tool.parameters,
        },
    }
}

fn image(image: &Image, request: &Request) -> Value {
    match request.instead_of(image) {
        None => json!({"type": "image_url", "image_url": {"url": data_url(image)}}),
        Some(note) => json!({"type": "text", "text": note}),
    }
}
