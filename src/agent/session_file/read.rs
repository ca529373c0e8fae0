//! Reading a session file, whoever wrote it: this program, or anything in the dialect of one of the seeds.
//!
//! | said by | call's arguments | a tool's result |
//! |---|---|---|
//! | this program, seed 000 | `tool_calls[].params` | role `tool_result` with `tool_call_id` |
//! | seed 001 | `tool_use[].input`, or `tool_use` blocks in `content` | `tool_result` blocks in `content` |
//! | the Python original | `tool_calls[].arguments`, an object or JSON in a string | role `tool` |

use std::collections::HashMap;

use chrono::DateTime;
use serde_json::{Map, Value};

use super::content::SessionFile;
use super::form::{Call, Content, Form, Message};
use crate::domain::{Assistant, CallId, Item, SessionId, ToolCall, ToolResult, Trigger, UserText};

/// Reads the bytes of a session file.
///
/// # Errors
///
/// What is wrong, and at which line or message.
pub fn parse(bytes: &[u8]) -> Result<SessionFile, String> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| format!("it is not UTF-8 text (byte {})", error.valid_up_to()))?;
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return Err("it is empty".to_owned());
    }
    // serde would take a list for an object without its keys.
    if text.trim_start().starts_with('[') {
        return Err("it has not the shape of a session: it is a list".to_owned());
    }
    let form: Form = serde_json::from_str(text).map_err(|error| explain(&error))?;
    session(form)
}

fn explain(error: &serde_json::Error) -> String {
    match error.classify() {
        serde_json::error::Category::Eof => format!("it is cut off ({error})"),
        _ if error.to_string().contains("recursion limit") => {
            format!("it is nested too deeply (line {})", error.line())
        }
        serde_json::error::Category::Syntax => format!("it is not valid JSON: {error}"),
        serde_json::error::Category::Data | serde_json::error::Category::Io => {
            format!("it has not the shape of a session: {error}")
        }
    }
}

fn session(form: Form) -> Result<SessionFile, String> {
    if form.id.is_none() && form.session_id.is_none() {
        return Err("it is not a session: it has neither `id` nor `session_id`".to_owned());
    }
    let saved_at = form
        .saved_at
        .or(form.timestamp)
        .ok_or("it says not when it was saved: `saved_at` and `timestamp` are missing")?;
    let saved_at = DateTime::parse_from_rfc3339(&saved_at)
        .map_err(|error| format!("its `saved_at` is no RFC 3339 time: {error}"))?
        .to_utc();
    let trigger = match form.trigger.as_deref() {
        // Seed 001 knows no triggers.
        None => Trigger::ManualSave,
        Some(word) => Trigger::ALL
            .into_iter()
            .find(|trigger| trigger.as_str() == word)
            .ok_or_else(|| format!("its trigger `{word}` is unknown"))?,
    };
    if form.messages.0.is_empty() {
        return Err("it holds no messages".to_owned());
    }
    let mut items = Vec::with_capacity(form.messages.0.len());
    let mut names = HashMap::new();
    for (number, message) in form.messages.0.into_iter().enumerate() {
        convert(message, &mut names, &mut items)
            .map_err(|reason| format!("message {}: {reason}", number + 1))?;
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
    })
}

/// Turns one message of any dialect into items. `names` remembers which tool each call was for.
fn convert(
    message: Message,
    names: &mut HashMap<CallId, String>,
    items: &mut Vec<Item>,
) -> Result<(), String> {
    match message.role.as_str() {
        "user" => user(message, names, items),
        "system" | "developer" => {
            items.push(Item::User(UserText::note(message.content.text)));
            Ok(())
        }
        "assistant" => assistant(message, names, items),
        "tool_result" | "tool" => tool_result(message, names, items),
        other => Err(format!(
            "its role `{other}` is unknown; roles are user, assistant and tool_result"
        )),
    }
}

fn user(
    message: Message,
    names: &HashMap<CallId, String>,
    items: &mut Vec<Item>,
) -> Result<(), String> {
    let Content {
        text,
        calls,
        results,
    } = message.content;
    if !calls.is_empty() || !call_list(message.tool_calls)?.is_empty() {
        return Err("a user calls no tools".to_owned());
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
        at: message.at.0,
    }));
    Ok(())
}

fn assistant(
    message: Message,
    names: &mut HashMap<CallId, String>,
    items: &mut Vec<Item>,
) -> Result<(), String> {
    let calls = call_list(message.tool_calls)?
        .into_iter()
        .chain(message.content.calls);
    let tool_calls = calls.map(tool_call).collect::<Result<Vec<_>, _>>()?;
    for call in &tool_calls {
        names.insert(call.id.clone(), call.name.clone());
    }
    items.push(Item::Assistant(Assistant {
        text: message.content.text,
        tool_calls,
        opaque: message.opaque.0.unwrap_or_default(),
        model: message.model.0,
        usage: message.usage.0,
    }));
    Ok(())
}

fn tool_result(
    message: Message,
    names: &HashMap<CallId, String>,
    items: &mut Vec<Item>,
) -> Result<(), String> {
    let call_id = CallId(
        message
            .tool_call_id
            .ok_or("a tool's result needs `tool_call_id`")?,
    );
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

/// A list of calls, which the Python original keeps as JSON in a string.
fn call_list(value: Value) -> Result<Vec<Call>, String> {
    let list = match value {
        Value::Null => return Ok(Vec::new()),
        Value::String(text) => serde_json::from_str(&text),
        other => serde_json::from_value(other),
    };
    list.map_err(|error| format!("its `tool_calls` are no list of calls: {error}"))
}

fn tool_call(call: Call) -> Result<ToolCall, String> {
    let (name, arguments) = match call.function {
        Some(function) => (function.name, function.arguments),
        None => (call.name, call.params),
    };
    let arguments = match arguments {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(arguments)) => arguments,
        Some(Value::String(text)) if text.trim().is_empty() => Map::new(),
        Some(Value::String(text)) => serde_json::from_str(&text).map_err(|error| {
            format!("the arguments of call `{}` are no object: {error}", call.id)
        })?,
        Some(_) => return Err(format!("the arguments of call `{}` are no object", call.id)),
    };
    Ok(ToolCall {
        id: CallId(call.id),
        name,
        arguments,
    })
}
