//! The format that is written: the union of both seeds, in a fixed order of keys.

use serde::Serialize;
use serde_json::{Map, Value};

use super::SessionFile;
use crate::clock;
use crate::domain::{
    AgentId, Attachment, Author, Image, Item, MessageId, OpaqueBlock, Quote, SessionId, ToolCall,
    Usage,
};

impl SessionFile {
    /// The file's bytes, pretty-printed, with a newline at the end.
    pub fn to_bytes(&self) -> Vec<u8> {
        bytes(self)
    }
}

fn bytes(file: &SessionFile) -> Vec<u8> {
    let saved_at = clock::rfc3339(file.saved_at);
    let form = Form {
        id: file.id,
        session_id: &file.session_id,
        agent_id: file.agent_id,
        agent_name: &file.agent_name,
        description: &file.description,
        summary: &file.summary,
        saved_at: &saved_at,
        timestamp: &saved_at,
        trigger: file.trigger.as_str(),
        message_count: file.items.len(),
        token_estimate: file.token_estimate(),
        hides_words: file.hides_words,
        messages: file.items.iter().map(message).collect(),
    };
    // Strings, numbers and maps with string keys: nothing here that JSON cannot hold.
    let mut bytes = serde_json::to_vec_pretty(&form).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

#[derive(Serialize)]
struct Form<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<SessionId>,
    session_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_id: Option<AgentId>,
    agent_name: &'a str,
    description: &'a str,
    summary: &'a str,
    saved_at: &'a str,
    timestamp: &'a str,
    trigger: &'a str,
    message_count: usize,
    token_estimate: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    hides_words: bool,
    messages: Vec<Message<'a>>,
}

#[derive(Default, Serialize)]
struct Message<'a> {
    role: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    content: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<&'a Author>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_id: Option<MessageId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quote: Option<&'a Quote>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    attachments: &'a [Attachment],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    images: &'a [Image],
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    note: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_error: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    facts: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    opaque: &'a [OpaqueBlock],
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a str>,
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    name: &'a str,
    params: &'a Map<String, Value>,
}

impl<'a> From<&'a ToolCall> for Call<'a> {
    fn from(call: &'a ToolCall) -> Self {
        Self {
            id: &call.id.0,
            name: &call.name,
            params: &call.arguments,
        }
    }
}

fn message(item: &Item) -> Message<'_> {
    match item {
        Item::User(user) => Message {
            role: "user",
            content: &user.text,
            author: user.author.as_ref(),
            message_id: user.message_id,
            quote: user.quote.as_ref(),
            attachments: &user.attachments,
            images: &user.images,
            note: user.note,
            facts: user.facts.as_deref(),
            at: user.at.map(clock::rfc3339),
            ..Message::default()
        },
        Item::Assistant(answer) => Message {
            role: "assistant",
            content: &answer.text,
            tool_calls: answer.tool_calls.iter().map(Call::from).collect(),
            model: answer.model.as_deref(),
            usage: answer.usage,
            opaque: &answer.opaque,
            by: answer.by.as_deref(),
            ..Message::default()
        },
        Item::ToolResult(result) => Message {
            role: "tool_result",
            tool_call_id: Some(&result.call_id.0),
            name: Some(&result.name),
            content: &result.content,
            images: &result.images,
            is_error: result.is_error,
            ..Message::default()
        },
    }
}
