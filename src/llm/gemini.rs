//! Gemini.

mod stream;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::error::LlmError;
use super::http::Endpoint;
use super::listing::{self, Listing};
use super::parts::{self, Part, encoded, in_order, inexpressible};
use super::pictures::PictureBounds;
use super::provider::{Encoded, OnDelta, Provider, Reply, Request, ToolSchema};
use super::quirks::{Quirk, Quirks};
use crate::config::Effort;
use crate::domain::{Assistant, Image, Item, ToolResult, UserText};

/// A server that speaks Gemini; its base URL includes `/v1beta`.
#[derive(Debug)]
pub struct Gemini {
    endpoint: Endpoint,
}

impl Gemini {
    pub fn new(endpoint: Endpoint) -> Self {
        Self { endpoint }
    }
}

#[async_trait::async_trait]
impl Provider for Gemini {
    fn name(&self) -> &str {
        &self.endpoint.name
    }

    fn encode(&self, request: &Request) -> Result<Encoded, LlmError> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        if request.model.is_empty() || !request.model.bytes().all(allowed) {
            return Err(inexpressible(
                self.name(),
                "the model's name cannot be part of an address",
            ));
        }
        encode(self.name(), request)
    }

    async fn stream(&self, body: &Encoded, on_delta: &mut OnDelta<'_>) -> Result<Reply, LlmError> {
        let headers = self.endpoint.key_header("x-goog-api-key", "")?;
        let path = format!("/models/{}:streamGenerateContent?alt=sse", body.model);
        let reading = stream::Generation::default();
        self.endpoint
            .stream(&path, headers, body, reading, on_delta)
            .await
    }

    /// Returns the bounds: a request with its pictures has at most 20 MB.
    fn picture_bounds(&self) -> PictureBounds {
        PictureBounds {
            count: 900,
            bytes: 14 << 20,
        }
    }

    async fn list_models(&self) -> Result<Listing, LlmError> {
        let headers = self.endpoint.key_header("x-goog-api-key", "")?;
        let page = self.endpoint.get("/models?pageSize=1000", headers).await?;
        let names = listing::ids(&page, "models", "name")
            .map_err(|fault| self.endpoint.error(fault, None))?;
        let names = names.iter().map(|name| name.trim_start_matches("models/"));
        let is_own = self.endpoint.is_at("generativelanguage.googleapis.com");
        let names = names.filter(|name| !is_own || name.starts_with("gem"));
        Ok(names.map(str::to_owned).collect::<Vec<_>>().into())
    }
}

/// The name of this wire format on opaque blocks.
pub(super) const FORMAT: &str = "gemini";

/// A value that Gemini 3 and later accept as the signature of a call by another model.
pub(super) const FOREIGN_SIGNATURE: &str = "skip_thought_signature_validator";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Content>,
    contents: Vec<Content>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    generation_config: Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Tool<'a> {
    GoogleSearch {},
    FunctionDeclarations(Vec<Function<'a>>),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters_json_schema: &'a RawValue,
}

#[derive(Serialize)]
struct Content {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<Role>,
    parts: Vec<Value>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    User,
    Model,
}

fn encode(provider: &str, request: &Request) -> Result<Encoded, LlmError> {
    let mut contents = contents(request);
    if contents.is_empty() {
        return Err(inexpressible(provider, "there is nothing to send"));
    }
    let system: Vec<Value> = request
        .system
        .iter()
        .filter(|part| !part.trim().is_empty())
        .map(|part| json!({"text": part}))
        .collect();
    let has_system = !system.is_empty();
    let mut instruction = None;
    if request.quirks.has(Quirk::NoSystem) {
        contents[0].parts.splice(0..0, system);
    } else if has_system {
        instruction = Some(Content {
            role: None,
            parts: system,
        });
    }
    let body = Body {
        system_instruction: instruction,
        contents,
        tools: tools(request),
        generation_config: generation_config(request),
    };
    let has_search = body
        .tools
        .iter()
        .any(|tool| matches!(tool, Tool::GoogleSearch {}));
    let changed_by = Quirks::from([
        (Quirk::NoSystem, has_system),
        (Quirk::NoThinking, request.thinking.is_some()),
        (Quirk::NoWebSearch, has_search),
        (Quirk::WantsSignatures, !wants_signatures(&request.model)),
    ]);
    encoded(provider, FORMAT, &request.model, changed_by, &body)
}

fn generation_config(request: &Request) -> Value {
    let mut config = json!({"maxOutputTokens": request.max_output_tokens});
    if let Some(effort) = request.thinking
        && !request.quirks.has(Quirk::NoThinking)
    {
        config["thinkingConfig"] = match (wants_signatures(&request.model), effort) {
            (true, Effort::Low) => json!({"thinkingLevel": "low"}),
            (true, Effort::Medium | Effort::High) => json!({"thinkingLevel": "high"}),
            (false, effort) => {
                let most = request.max_output_tokens / 4 * 3;
                json!({"thinkingBudget": thinking_budget(effort).min(most)})
            }
        };
    }
    config
}

/// Returns the tokens to think with before Gemini 3: within the bounds of all its models.
fn thinking_budget(effort: Effort) -> u32 {
    match effort {
        Effort::Low => 1_024,
        Effort::Medium => 8_192,
        Effort::High => 24_576,
    }
}

/// Returns the functions, or the search: models before Gemini 3 accept only one kind at a time, and an agent needs its
/// functions.
fn tools(request: &Request) -> Vec<Tool<'_>> {
    let functions: Vec<Function<'_>> = request.tools.iter().map(function).collect();
    let mut tools = Vec::new();
    let searches = request.web_search && !request.quirks.has(Quirk::NoWebSearch);
    if searches && (functions.is_empty() || wants_signatures(&request.model)) {
        tools.push(Tool::GoogleSearch {});
    }
    if !functions.is_empty() {
        tools.push(Tool::FunctionDeclarations(functions));
    }
    tools
}

fn function(tool: &ToolSchema) -> Function<'_> {
    Function {
        name: &tool.name,
        description: &tool.description,
        parameters_json_schema: &tool.parameters,
    }
}

/// Joins neighbours of one role into one content: results of parallel calls must come together.
fn contents(request: &Request) -> Vec<Content> {
    let mut contents: Vec<Content> = Vec::new();
    for item in request.items.iter() {
        let (role, parts) = match item {
            Item::User(user) => (Role::User, said(user, request)),
            Item::Assistant(answer) => (Role::Model, answered(answer, request)),
            Item::ToolResult(result) => (Role::User, given(result, request)),
        };
        match contents.last_mut() {
            _ if parts.is_empty() => {}
            Some(last) if last.role == Some(role) => last.parts.extend(parts),
            _ => contents.push(Content {
                role: Some(role),
                parts,
            }),
        }
    }
    contents
}

fn said(user: &UserText, request: &Request) -> Vec<Value> {
    parts::said(
        user,
        |picture| image(picture, request),
        |words| json!({"text": words}),
    )
}

/// Returns the parts of an answer. A signature comes before the call that it signs, and after the text.
fn answered(answer: &Assistant, request: &Request) -> Vec<Value> {
    let mut parts: Vec<Value> = Vec::new();
    let mut signature: Option<&Value> = None;
    let mut is_first_call = true;
    let wants_signature =
        wants_signatures(&request.model) || request.quirks.has(Quirk::WantsSignatures);
    for part in in_order(answer, FORMAT, request, |_| false, |_| false) {
        match part {
            Part::Opaque(block) => match (
                block.get("callSignature"),
                block.get("textSignature"),
                parts.last_mut(),
            ) {
                (Some(of_call), _, _) => signature = Some(of_call),
                (None, Some(of_text), Some(text)) => text["thoughtSignature"] = of_text.clone(),
                _ => {}
            },
            Part::Text(text) => parts.push(json!({"text": text})),
            Part::Call(call) => {
                let mut part = json!({"functionCall": {"name": call.name, "args": call.arguments}});
                match signature.take() {
                    Some(signature) => part["thoughtSignature"] = signature.clone(),
                    None if is_first_call && wants_signature => {
                        part["thoughtSignature"] = json!(FOREIGN_SIGNATURE);
                    }
                    None => {}
                }
                is_first_call = false;
                parts.push(part);
            }
        }
    }
    parts
}

fn given(result: &ToolResult, request: &Request) -> Vec<Value> {
    let key = if result.is_error { "error" } else { "result" };
    let mut parts =
        vec![json!({"functionResponse": {"name": result.name, "response": {key: result.content}}})];
    parts.extend(result.images.iter().map(|picture| image(picture, request)));
    parts
}

fn image(image: &Image, request: &Request) -> Value {
    match request.instead_of(image) {
        None => json!({"inlineData": {"mimeType": image.media_type, "data": image.data}}),
        Some(note) => json!({"text": note}),
    }
}

/// Returns whether the model is Gemini 3 or later, which refuses a step's first call without a signature, and accepts
/// the search beside functions.
pub(super) fn wants_signatures(model: &str) -> bool {
    let version = model
        .strip_prefix("gemini-")
        .and_then(|rest| rest.chars().next());
    version.is_some_and(|digit| digit.is_ascii_digit() && digit >= '3')
}
