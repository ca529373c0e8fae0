//! OpenAI Chat Completions, which OpenAI and most other servers speak.

mod abilities;
mod conversation;
mod reasoning_details;
mod stream;

use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::OnceCell;

use super::error::LlmError;
use super::http::Endpoint;
use super::listing::{self, Listing};
use super::parts::{encoded, inexpressible, is_openai_reasoning};
use super::pictures::PictureBounds;
use super::provider::{Encoded, OnDelta, Provider, Reply, Request, ToolSchema};
use super::quirks::{Quirk, Quirks};
use crate::config::Effort;
use conversation::Message;

/// A server that speaks Chat Completions; its base URL includes `/v1`, if it has one.
#[derive(Debug)]
pub struct OpenAiChat {
    endpoint: Endpoint,
    /// How the server reports the window of a loaded model, once known.
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
        let published = published_quirks(&self.endpoint);
        let request = Request {
            quirks: request.quirks.and(published),
            ..request.clone()
        };
        encode(&self.endpoint, &request)
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

    fn picture_bounds(&self) -> PictureBounds {
        let published = [
            (OPENAI, 500, 40 << 20),
            (MISTRAL, 8, 16 << 20),
            ("api.groq.com", 5, 3 << 20),
        ];
        let mut published = published.into_iter();
        published
            .find(|(host, ..)| self.endpoint.is_at(host))
            .map_or_else(PictureBounds::default, |(_, count, bytes)| PictureBounds {
                count,
                bytes,
            })
    }

    async fn loaded_window(&self, model: &str) -> Option<u64> {
        let endpoint = &self.endpoint;
        let loader = self.loader.get_or_init(|| abilities::loader(endpoint));
        abilities::loaded_window(endpoint, (*loader.await)?, model).await
    }
}

/// OpenAI itself.
const OPENAI: &str = "api.openai.com";

const MISTRAL: &str = "api.mistral.ai";

/// Returns how a vendor departs from the format by its own documentation, so that no refusal is needed to learn it.
fn published_quirks(endpoint: &Endpoint) -> Quirks {
    let is_mistral = endpoint.is_at(MISTRAL);
    Quirks::from([
        (Quirk::NoStreamOptions, is_mistral),
        (Quirk::NoThoughts, is_mistral),
        (Quirk::AnswerAfterResults, is_mistral),
    ])
}

/// Returns the models that an OpenAI-like server lists, and its information about them. For OpenAI itself, only models
/// that chat are returned.
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
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
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

fn encode(endpoint: &Endpoint, request: &Request) -> Result<Encoded, LlmError> {
    let Some((messages, of_messages)) = conversation::messages(endpoint, request) else {
        return Err(inexpressible(&endpoint.name, "there is nothing to send"));
    };
    let wants = |quirk: Quirk| !request.quirks.has(quirk);
    let limit = request.max_output_tokens;
    let (old, new) = limits(endpoint, request);
    let streams = wants(Quirk::NoStream);
    let counts = streams && wants(Quirk::NoStreamOptions);
    let thinking = request.thinking.filter(|_| wants(Quirk::NoThinking));
    let body = Body {
        model: &request.model,
        messages,
        stream: streams,
        stream_options: counts.then_some(StreamOptions {
            include_usage: true,
        }),
        max_tokens: old.then_some(limit),
        max_completion_tokens: new.then_some(limit),
        reasoning_effort: thinking.map(Effort::as_str),
        tools: request.tools.iter().map(tool).collect(),
    };
    let changed_by = of_messages.and(Quirks::from([
        (Quirk::NoMaxTokens, old),
        (Quirk::NoMaxCompletionTokens, new),
        (Quirk::NoStream, streams),
        (Quirk::NoStreamOptions, counts),
        (Quirk::NoThinking, thinking.is_some()),
    ]));
    encoded(&endpoint.name, FORMAT, &request.model, changed_by, &body)
}

/// Returns whether to limit the output under the old name, and whether under the new one. The other name is tried if
/// one was refused; if both were, the server's own limit applies.
fn limits(endpoint: &Endpoint, request: &Request) -> (bool, bool) {
    let takes_old = !request.quirks.has(Quirk::NoMaxTokens);
    let takes_new = !request.quirks.has(Quirk::NoMaxCompletionTokens);
    let prefers_new = takes_new_limit(&endpoint.base_url, &request.model);
    (
        takes_old && !(prefers_new && takes_new),
        takes_new && (prefers_new || !takes_old),
    )
}

/// Returns whether the model takes the new limit: OpenAI's reasoning models refuse `max_tokens`, and many other servers
/// know only that.
fn takes_new_limit(base_url: &str, model: &str) -> bool {
    base_url.contains(OPENAI) || is_openai_reasoning(model)
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
