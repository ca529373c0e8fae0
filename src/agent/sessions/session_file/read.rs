//! Reading a session file, written by this program or in the dialect of one of the seeds.
//!
//! | said by | call's arguments | a tool's result |
//! |---|---|---|
//! | this program, seed 000 | `tool_calls[].params` | role `tool_result` with `tool_call_id` |
//! | seed 001 | `tool_use[].input`, or `tool_use` blocks in `content` | `tool_result` blocks in `content` |
//! | the Python original | `tool_calls[].arguments`, an object or JSON in a string | role `tool` |

use std::collections::HashMap;

use chrono::DateTime;
use serde_json::{Map, Value};

use super::SessionFile;
use super::form::{Call, Content, Form, Message};
use crate::domain::{
    Assistant, CallId, Item, SaveTrigger, SessionId, ToolCall, ToolResult, UserText,
};

/// Why the bytes are not a session.
#[derive(Debug, thiserror::Error)]
pub enum InvalidSession {
    #[error("it is not UTF-8 text (byte {0})")]
    NotText(usize),
    #[error("it is empty")]
    Empty,
    #[error("it is cut off ({0})")]
    CutOff(#[source] serde_json::Error),
    #[error("it is nested too deeply (line {0})")]
    Deep(usize),
    #[error("it is not valid JSON: {0}")]
    Syntax(#[source] serde_json::Error),
    #[error("it does not have the shape of a session: it is a list")]
    List,
    #[error("it does not have the shape of a session: {0}")]
    Shape(#[source] serde_json::Error),
    #[error("it is not a session: it has neither `id` nor `session_id`")]
    NoId,
    #[error("it does not say when it was saved: `saved_at` and `timestamp` are missing")]
    NoTime,
    #[error("its `saved_at` is not an RFC 3339 time: {0}")]
    Time(#[source] chrono::ParseError),
    #[error("its trigger `{0}` is unknown")]
    SaveTrigger(String),
    #[error("it holds no messages")]
    NoMessages,
    #[error("message {number}: {problem}")]
    Message {
        /// Counted from 1.
        number: usize,
        #[source]
        problem: InvalidMessage,
    },
}

/// Why one message of a session cannot be taken.
#[derive(Debug, thiserror::Error)]
pub enum InvalidMessage {
    #[error("its role `{0}` is unknown; roles are user, assistant and tool_result")]
    Role(String),
    #[error("a user calls no tools")]
    UserCalls,
    #[error("a tool's result needs `tool_call_id`")]
    NoCallId,
    #[error("its `tool_calls` are not a list of calls: {0}")]
    Calls(#[source] serde_json::Error),
    #[error("the arguments of call `{0}` are not an object")]
    Arguments(String),
    #[error("the arguments of call `{call}` are not an object: {error}")]
    BadArguments {
        call: String,
        #[source]
        error: serde_json::Error,
    },
}

/// Reads the bytes of a session file.
///
/// # Errors
///
/// What is wrong, and at which line or message.
pub fn parse(bytes: &[u8]) -> Result<SessionFile, InvalidSession> {
    let text =
        std::str::from_utf8(bytes).map_err(|error| InvalidSession::NotText(error.valid_up_to()))?;
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return Err(InvalidSession::Empty);
    }
    // serde would accept a list as an object by position.
    if text.trim_start().starts_with('[') {
        return Err(InvalidSession::List);
    }
    let form: Form = serde_json::from_str(text).map_err(explain)?;
    session(form)
}

fn explain(error: serde_json::Error) -> InvalidSession {
    match error.classify() {
        serde_json::error::Category::Eof => InvalidSession::CutOff(error),
        _ if error.to_string().contains("recursion limit") => InvalidSession::Deep(error.line()),
        serde_json::error::Category::Syntax => InvalidSession::Syntax(error),
        serde_json::error::Category::Data | serde_json::error::Category::Io => {
            InvalidSession::Shape(error)
        }
    }
}

fn session(form: Form) -> Result<SessionFile, InvalidSession> {
    if form.id.is_none() && form.session_id.is_none() {
        return Err(InvalidSession::NoId);
    }
    let saved_at = form
        .saved_at
        .or(form.timestamp)
        .ok_or(InvalidSession::NoTime)?;
    let saved_at = DateTime::parse_from_rfc3339(&saved_at)
        .map_err(InvalidSession::Time)?
        .to_utc();
    let trigger = match form.trigger.as_deref() {
        // Seed 001 knows no triggers.
        None => SaveTrigger::ManualSave,
        Some(word) => SaveTrigger::ALL
            .into_iter()
            .find(|trigger| trigger.as_str() == word)
            .ok_or_else(|| InvalidSession::SaveTrigger(word.to_owned()))?,
    };
    if form.messages.0.is_empty() {
        return Err(InvalidSession::NoMessages);
    }
    let mut items = Vec::with_capacity(form.messages.0.len());
    let mut names = HashMap::new();
    for (number, message) in form.messages.0.into_iter().enumerate() {
        convert(message, &mut names, &mut items).map_err(|problem| InvalidSession::Message {
            number: number + 1,
            problem,
        })?;
    }
    Ok(SessionFile {
        id: form
            .id
            .as_deref()
            .and_then(|id| id.parse::<SessionId>().ok()),
        session_id: form.session_id.or(form.id).unwrap_or_default(),
        agent_id: form.agent_id.as_deref().and_then(|id| id.parse().ok()),
        agent_name: form.agent_name.unwrap_or_default(),
        description: form.description.unwrap_or_default(),
        summary: form.summary.unwrap_or_default(),
        saved_at,
        trigger,
        items,
        hides_words: form.hides_words.0.unwrap_or_default(),
    })
}

/// Turns one message of any dialect into items. `names` remembers which tool each call was for.
fn convert(
    message: Message,
    names: &mut HashMap<CallId, String>,
    items: &mut Vec<Item>,
) -> Result<(), InvalidMessage> {
    match message.role.as_str() {
        "user" => user(message, names, items),
        "system" | "developer" => {
            items.push(Item::User(UserText::note(message.content.text)));
            Ok(())
        }
        "assistant" => assistant(message, names, items),
        "tool_result" | "tool" => tool_result(message, names, items),
        other => Err(InvalidMessage::Role(other.to_owned())),
    }
}

fn user(
    message: Message,
    names: &HashMap<CallId, String>,
    items: &mut Vec<Item>,
) -> Result<(), InvalidMessage> {
    let Content {
        text,
        calls,
        results,
    } = message.content;
    if !calls.is_empty() || !call_list(message.tool_calls)?.is_empty() {
        return Err(InvalidMessage::UserCalls);
    }
    let only_results = !results.is_empty() && text.is_empty();
    for mut result in results {
        result.name = names.get(&result.call_id).cloned().unwrap_or_default();
        items.push(Item::ToolResult(result));
    }
    if only_results {
        return Ok(());
    }
    items.push(Item::User(UserText {
        text,
        author: message.author.0,
        message_id: message.message_id.0,
        quote: message.quote.0,
        attachments: message.attachments.0.unwrap_or_default(),
        images: message.images.0.unwrap_or_default(),
        note: message.note,
        facts: message.facts.0,
        at: message.at.0.or(message.timestamp.0),
    }));
    Ok(())
}

fn assistant(
    message: Message,
    names: &mut HashMap<CallId, String>,
    items: &mut Vec<Item>,
) -> Result<(), InvalidMessage> {
    let mut tool_calls = tool_calls(message.tool_calls)?;
    for call in message.content.calls {
        tool_calls.push(tool_call(call)?);
    }
    for call in &tool_calls {
        names.insert(call.id.clone(), call.name.clone());
    }
    items.push(Item::Assistant(Assistant {
        text: message.content.text,
        tool_calls,
        opaque: message.opaque.0.unwrap_or_default(),
        model: message.model.0,
        usage: message.usage.0,
        by: message.by.0,
    }));
    Ok(())
}

fn tool_result(
    message: Message,
    names: &HashMap<CallId, String>,
    items: &mut Vec<Item>,
) -> Result<(), InvalidMessage> {
    let call_id = CallId(message.tool_call_id.ok_or(InvalidMessage::NoCallId)?);
    let name = message
        .name
        .or_else(|| names.get(&call_id).cloned())
        .unwrap_or_default();
    items.push(Item::ToolResult(ToolResult {
        call_id,
        name,
        content: message.content.text,
        is_error: message.is_error,
        images: message.images.0.unwrap_or_default(),
    }));
    Ok(())
}

/// The calls in the `tool_calls` of a message, in any dialect.
///
/// # Errors
///
/// When the value is not a list of calls, or the arguments of one are not an object.
pub fn tool_calls(value: Value) -> Result<Vec<ToolCall>, InvalidMessage> {
    call_list(value)?.into_iter().map(tool_call).collect()
}

/// A list of calls, which the Python original keeps as JSON in a string.
fn call_list(value: Value) -> Result<Vec<Call>, InvalidMessage> {
    let list = match value {
        Value::Null => return Ok(Vec::new()),
        Value::String(text) => serde_json::from_str(&text),
        other => serde_json::from_value(other),
    };
    list.map_err(InvalidMessage::Calls)
}

fn tool_call(call: Call) -> Result<ToolCall, InvalidMessage> {
    let (name, arguments) = match call.function {
        Some(function) => (function.name, function.arguments),
        None => (call.name, call.params),
    };
    let arguments = match arguments {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(arguments)) => arguments,
        Some(Value::String(text)) if text.trim().is_empty() => Map::new(),
        Some(Value::String(text)) => match serde_json::from_str(&text) {
            Ok(arguments) => arguments,
            Err(error) => {
                return Err(InvalidMessage::BadArguments {
                    call: call.id,
                    error,
                });
            }
        },
        Some(_) => return Err(InvalidMessage::Arguments(call.id)),
    };
    Ok(ToolCall {
        id: CallId(call.id),
        name,
        arguments,
    })
}
