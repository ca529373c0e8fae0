//! The conversation as messages of Chat Completions.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Value, json};

use super::FORMAT;
use crate::domain::{Assistant, Image, Item, ToolCall, ToolResult, UserText};
use crate::llm::gemini;
use crate::llm::http::Endpoint;
use crate::llm::parts::{self, Part, data_url, in_order, wire_id};
use crate::llm::provider::Request;
use crate::llm::quirks::{Quirk, Quirks};

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(super) enum Message<'a> {
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
pub(super) enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Value>),
}

/// Returns the messages of `request`, and the quirks that would change them. `None` if there is no message.
pub(super) fn messages<'a>(
    endpoint: &Endpoint,
    request: &'a Request,
) -> Option<(Vec<Message<'a>>, Quirks)> {
    let mut said = Vec::new();
    let system = system(request);
    let has_system = system.is_some();
    let joins_system = request.quirks.has(Quirk::NoSystem);
    if joins_system && let Some(text) = &system {
        let content = Content::Text(text.clone());
        said.push(Message::User { content });
    }
    let before = said.len();
    add_conversation(&mut said, request, endpoint);
    let is_empty = said.len() == before && !joins_system || request.items.is_empty();
    if is_empty {
        return None;
    }
    let goes_on = said
        .windows(2)
        .any(|pair| matches!(pair, [Message::Tool { .. }, Message::User { .. }]));
    let quirks = Quirks::from([
        (Quirk::NoSystem, has_system),
        (Quirk::AnswerAfterResults, goes_on),
        (Quirk::NoThoughts, said.iter().any(Message::has_thoughts)),
        (
            Quirk::WantsThoughts,
            said.iter().any(Message::lacks_thoughts),
        ),
        (
            Quirk::WantsSignatures,
            said.iter().any(Message::lacks_signature),
        ),
        (
            Quirk::SingleCalls,
            said.iter().any(|message| message.calls() > 1),
        ),
    ]);
    if request.quirks.has(Quirk::SingleCalls) {
        said = one_call_each(said);
    }
    if request.quirks.has(Quirk::AnswerAfterResults) {
        said = with_answers_after_results(said);
    }
    if let Some(content) = system.filter(|_| !joins_system) {
        said.insert(0, Message::System { content });
    }
    Some((said, quirks))
}

impl Message<'_> {
    fn calls(&self) -> usize {
        match self {
            Self::Assistant { tool_calls, .. } => tool_calls.len(),
            Self::System { .. } | Self::User { .. } | Self::Tool { .. } => 0,
        }
    }

    fn has_thoughts(&self) -> bool {
        match self {
            Self::Assistant {
                reasoning_content,
                reasoning,
                reasoning_details,
                tool_calls,
                ..
            } => {
                reasoning_content.is_some()
                    || reasoning.is_some()
                    || reasoning_details.is_some()
                    || tool_calls.iter().any(|call| call.get(EXTRA).is_some())
            }
            Self::System { .. } | Self::User { .. } | Self::Tool { .. } => false,
        }
    }

    /// Returns whether it has calls without the thoughts before them.
    fn lacks_thoughts(&self) -> bool {
        match self {
            Self::Assistant {
                reasoning_content,
                tool_calls,
                ..
            } => !tool_calls.is_empty() && reasoning_content.is_none(),
            Self::System { .. } | Self::User { .. } | Self::Tool { .. } => false,
        }
    }

    /// Returns whether its first call has no signature.
    fn lacks_signature(&self) -> bool {
        match self {
            Self::Assistant { tool_calls, .. } => tool_calls
                .first()
                .is_some_and(|call| call.get(EXTRA).is_none()),
            Self::System { .. } | Self::User { .. } | Self::Tool { .. } => false,
        }
    }
}

/// Placed between a result and the user message after it.
const BETWEEN: &str = "I go on with that.";

fn with_answers_after_results(messages: Vec<Message<'_>>) -> Vec<Message<'_>> {
    let mut said: Vec<Message<'_>> = Vec::with_capacity(messages.len());
    for message in messages {
        let follows = matches!(said.last(), Some(Message::Tool { .. }));
        if follows && matches!(message, Message::User { .. }) {
            said.push(Message::Assistant {
                content: Some(BETWEEN),
                reasoning_content: None,
                reasoning: None,
                reasoning_details: None,
                tool_calls: Vec::new(),
            });
        }
        said.push(message);
    }
    said
}

/// Rewrites the conversation as if each call had waited for the result of the one before it.
fn one_call_each(messages: Vec<Message<'_>>) -> Vec<Message<'_>> {
    let mut single = Vec::with_capacity(messages.len());
    let mut messages = messages.into_iter().peekable();
    while let Some(message) = messages.next() {
        let Message::Assistant {
            content,
            reasoning_content,
            reasoning,
            reasoning_details,
            tool_calls,
        } = message
        else {
            single.push(message);
            continue;
        };
        let mut content = content;
        let mut calls = tool_calls.into_iter();
        let mut next = calls.next();
        loop {
            let is_call = next.is_some();
            single.push(Message::Assistant {
                content: content.take(),
                reasoning_content,
                reasoning,
                reasoning_details,
                tool_calls: next.into_iter().collect(),
            });
            if is_call && matches!(messages.peek(), Some(Message::Tool { .. })) {
                single.extend(messages.next());
            }
            next = calls.next();
            if next.is_none() {
                break;
            }
        }
    }
    single
}

/// Returns the system prompt as one text: several servers accept only one message of it, and only at the beginning.
fn system(request: &Request) -> Option<Cow<'_, str>> {
    let parts: Vec<&str> = request
        .system
        .iter()
        .map(String::as_str)
        .filter(|part| !part.trim().is_empty())
        .collect();
    match parts.as_slice() {
        [] => None,
        [only] => Some(Cow::Borrowed(only)),
        several => Some(Cow::Owned(several.join("\n\n"))),
    }
}

fn add_conversation<'a>(
    messages: &mut Vec<Message<'a>>,
    request: &'a Request,
    endpoint: &Endpoint,
) {
    // Pictures of results, which the format cannot express: sent in a user message after the last result.
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

/// Adds a message. Neighbours of one role are joined: the templates of some local models require alternating roles.
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
    let takes_thoughts = !request.quirks.has(Quirk::NoThoughts);
    let thought = thought(answer, request).filter(|_| takes_thoughts);
    let field = |name: &str| thought.and_then(|block| block.get(name));
    let wants_thoughts = request.quirks.has(Quirk::WantsThoughts)
        || takes_thoughts && wants_thoughts(endpoint, &request.model);
    let stand_in = (!tool_calls.is_empty() && wants_thoughts).then_some(FOREIGN_THOUGHTS);
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

/// Replaces the thoughts before the calls of another model.
const FOREIGN_THOUGHTS: &str = "(not available)";

/// Returns whether the server refuses calls without the thoughts before them: DeepSeek and Moonshot do while their
/// models think.
fn wants_thoughts(endpoint: &Endpoint, model: &str) -> bool {
    let names = |text: &str| {
        let text = text.to_ascii_lowercase();
        ["deepseek", "moonshot", "kimi"]
            .iter()
            .any(|name| text.contains(name))
    };
    names(&endpoint.base_url) || names(model)
}

/// Returns the model's thoughts before its calls, for servers that require them back.
fn thought<'a>(answer: &'a Assistant, request: &Request) -> Option<&'a Value> {
    let is_own = answer.model.as_deref() == Some(request.model.as_str());
    let is_thought =
        |block: &Value| block.get(EXTRA).is_none() && !request.refused.has_block(block);
    let mut blocks = answer.opaque.iter().filter(|block| block.format == FORMAT);
    let block = blocks.find(|block| is_thought(&block.block))?;
    (is_own && !answer.tool_calls.is_empty()).then_some(&block.block)
}

/// The field of a call with the data that its server requires back.
const EXTRA: &str = "extra_content";

/// Returns the calls of an answer, each with the data that its server requires back.
fn calls(answer: &Assistant, request: &Request) -> Vec<Value> {
    let mut calls = Vec::with_capacity(answer.tool_calls.len());
    let mut extra: Option<&Value> = None;
    let takes_extra = !request.quirks.has(Quirk::NoThoughts);
    let wants_signature = gemini::wants_signatures(last_name(&request.model)) && takes_extra
        || request.quirks.has(Quirk::WantsSignatures);
    for part in in_order(answer, FORMAT, request, |_| false, |_| false) {
        match part {
            Part::Opaque(block) => extra = block.get(EXTRA).or(extra),
            Part::Text(_) => {}
            Part::Call(one) => {
                let mut wire = call(one);
                if let Some(extra) = extra.take().filter(|_| takes_extra) {
                    wire[EXTRA] = extra.clone();
                } else if calls.is_empty() && wants_signature {
                    let signature = gemini::FOREIGN_SIGNATURE;
                    wire[EXTRA] = json!({"google": {"thought_signature": signature}});
                }
                calls.push(wire);
            }
        }
    }
    calls
}

/// Returns the name of a model without its maker: `gemini-3-pro` of `google/gemini-3-pro`.
fn last_name(model: &str) -> &str {
    model.rsplit('/').next().unwrap_or(model)
}

fn call(call: &ToolCall) -> Value {
    let arguments = Value::Object(call.arguments.clone()).to_string();
    let function = json!({"name": call.name, "arguments": arguments});
    json!({"id": wire_id(&call.id), "type": "function", "function": function})
}

fn image(image: &Image, request: &Request) -> Value {
    match request.instead_of(image) {
        None => json!({"type": "image_url", "image_url": {"url": data_url(image)}}),
        Some(note) => json!({"type": "text", "text": note}),
    }
}
