//! OpenAI Responses.

mod stream;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::error::LlmError;
use super::http::Endpoint;
use super::listing::Listing;
use super::openai_chat;
use super::parts::{
    self, Part, data_url, encoded, in_order, inexpressible, is_openai_reasoning, kind, wire_id,
};
use super::provider::{Encoded, OnDelta, Provider, Reply, Request, ToolSchema};
use super::quirks::{Quirk, Quirks};
use crate::domain::{Assistant, Image, Item, ToolResult, UserText};

/// A server that speaks Responses; its base URL includes `/v1`. Nothing is stored there.
#[derive(Debug)]
pub struct OpenAiResponses {
    endpoint: Endpoint,
}

impl OpenAiResponses {
    pub fn new(endpoint: Endpoint) -> Self {
        Self { endpoint }
    }
}

#[async_trait::async_trait]
impl Provider for OpenAiResponses {
    fn name(&self) -> &str {
        &self.endpoint.name
    }

    fn encode(&self, request: &Request) -> Result<Encoded, LlmError> {
        encode(self.name(), request)
    }

    async fn stream(&self, body: &Encoded, on_delta: &mut OnDelta<'_>) -> Result<Reply, LlmError> {
        let headers = self.endpoint.key_header("authorization", "Bearer ")?;
        let reading = stream::Response::default();
        self.endpoint
            .stream("/responses", headers, body, reading, on_delta)
            .await
    }

    async fn list_models(&self) -> Result<Listing, LlmError> {
        openai_chat::list_models(&self.endpoint).await
    }
}

/// The name of this wire format on opaque blocks.
pub(in crate::llm) const FORMAT: &str = "openai_responses";

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "String::is_empty")]
    instructions: String,
    input: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    include: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Value>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Tool<'a> {
    Function {
        name: &'a str,
        description: &'a str,
        parameters: &'a RawValue,
        #[serde(skip_serializing_if = "Option::is_none")]
        strict: Option<bool>,
    },
    WebSearch,
}

/// Fewest output tokens that the format accepts.
const MIN_OUTPUT: u32 = 16;

fn encode(provider: &str, request: &Request) -> Result<Encoded, LlmError> {
    let input: Vec<Value> = request
        .items
        .iter()
        .flat_map(|item| input_of(item, request))
        .collect();
    if input.is_empty() {
        return Err(inexpressible(provider, "there is nothing to send"));
    }
    let quirks = request.quirks;
    let wants = |quirk: Quirk| !quirks.has(quirk);
    let strict = wants(Quirk::NoStrict).then_some(false);
    let functions = request.tools.iter().map(|schema| tool(schema, strict));
    let mut tools: Vec<Tool<'_>> = functions.collect();
    let searches = request.web_search && wants(Quirk::NoWebSearch);
    if searches {
        tools.push(Tool::WebSearch);
    }
    let includes = is_openai_reasoning(&request.model) && wants(Quirk::NoInclude);
    let include = if includes {
        vec!["reasoning.encrypted_content"]
    } else {
        Vec::new()
    };
    let thinking = request.thinking.filter(|_| wants(Quirk::NoThinking));
    let limit = request.max_output_tokens.max(MIN_OUTPUT);
    let body = Body {
        model: &request.model,
        instructions: request.system.join("\n\n"),
        input,
        tools,
        max_output_tokens: wants(Quirk::NoMaxTokens).then_some(limit),
        stream: wants(Quirk::NoStream),
        store: wants(Quirk::NoStore).then_some(false),
        include,
        reasoning: thinking.map(|effort| json!({"effort": effort.as_str()})),
    };
    let changed_by = Quirks::from([
        (Quirk::NoMaxTokens, body.max_output_tokens.is_some()),
        (Quirk::NoStream, body.stream),
        (Quirk::NoStore, body.store.is_some()),
        (Quirk::NoInclude, includes),
        (Quirk::NoThinking, body.reasoning.is_some()),
        (Quirk::NoWebSearch, searches),
        (
            Quirk::NoStrict,
            strict.is_some() && !request.tools.is_empty(),
        ),
    ]);
    encoded(provider, FORMAT, &request.model, changed_by, &body)
}

fn input_of(item: &Item, request: &Request) -> Vec<Value> {
    match item {
        Item::User(user) => said(user, request).into_iter().collect(),
        Item::Assistant(answer) => answered(answer, request),
        Item::ToolResult(result) => vec![output(result, request)],
    }
}

fn said(user: &UserText, request: &Request) -> Option<Value> {
    let content = parts::said(
        user,
        |picture| image(picture, request),
        |words| json!({"type": "input_text", "text": words}),
    );
    (!content.is_empty()).then(|| json!({"type": "message", "role": "user", "content": content}))
}

fn answered(answer: &Assistant, request: &Request) -> Vec<Value> {
    let is_text = |item: &Value| kind(item) == "message";
    let is_reasoning = |item: &Value| kind(item) == "reasoning";
    let parts = in_order(answer, FORMAT, request, is_text, is_reasoning);
    let item = |part: Part<'_>| match part {
        Part::Opaque(item) => item.clone(),
        Part::Text(text) => json!({"type": "message", "role": "assistant", "content": text}),
        Part::Call(call) => json!({
            "type": "function_call",
            "call_id": wire_id(&call.id),
            "name": call.name,
            "arguments": Value::Object(call.arguments.clone()).to_string(),
        }),
    };
    parts.into_iter().map(item).collect()
}

fn output(result: &ToolResult, request: &Request) -> Value {
    let output = match result.images.as_slice() {
        [] => json!(result.content),
        images => {
            let mut content = vec![json!({"type": "input_text", "text": result.content})];
            content.extend(images.iter().map(|picture| image(picture, request)));
            json!(content)
        }
    };
    json!({"type": "function_call_output", "call_id": wire_id(&result.call_id), "output": output})
}

/// Returns the tool, not strict: strict schemas allow no optional argument.
fn tool(tool: &ToolSchema, strict: Option<bool>) -> Tool<'_> {
    Tool::Function {
        name: &tool.name,
        description: &tool.description,
        parameters: &tool.parameters,
        strict,
    }
}

fn image(image: &Image, request: &Request) -> Value {
    match request.instead_of(image) {
        None => json!({"type": "input_image", "image_url": data_url(image), "detail": "auto"}),
        Some(note) => json!({"type": "input_text", "text": note}),
    }
}
