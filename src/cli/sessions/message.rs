//! The parts of a session's item that are shown.

use crate::domain::{Item, ToolCall};

/// Returns its role, as session files name it.
pub(super) fn role(item: &Item) -> &'static str {
    match item {
        Item::User(_) => "user",
        Item::Assistant(_) => "assistant",
        Item::ToolResult(_) => "tool_result",
    }
}

/// Returns the speaker, for a heading.
pub(super) fn speaker(item: &Item) -> &str {
    match item {
        Item::User(user) => user.author.as_ref().map_or("User", |author| &author.name),
        Item::Assistant(_) => "Assistant",
        Item::ToolResult(_) => "Tool result",
    }
}

/// Returns the tools that it calls, each by its own name, even if the model called it through another tool.
pub(super) fn calls(item: &Item) -> Vec<ToolCall> {
    match item {
        Item::Assistant(answer) => answer.tool_calls.iter().map(ToolCall::meant).collect(),
        Item::User(_) | Item::ToolResult(_) => Vec::new(),
    }
}

pub(super) fn arguments(call: &ToolCall) -> String {
    // A map of strings and values always serialises.
    serde_json::to_string_pretty(&call.arguments).unwrap_or_default()
}
