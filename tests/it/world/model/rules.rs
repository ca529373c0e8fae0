//! What a request must hold to: the published schema, and the provider's rules for histories.

use serde_json::Value;

use crate::published::Published;

/// Everything that is wrong with a request.
pub(super) fn broken(request: &Value) -> Vec<String> {
    let mut broken = Published::AnthropicMessages.broken(request);
    broken.extend(history(
        request["messages"].as_array().map_or(&[], Vec::as_slice),
    ));
    broken
}

/// The rules: a user speaks first; every call is answered once, in order, in the very next message, before any text.
fn history(messages: &[Value]) -> Vec<String> {
    let mut broken = Vec::new();
    if messages.first().is_none_or(|first| first["role"] != "user") {
        broken.push("the first message is not the user's".to_owned());
    }
    let mut open: Vec<&str> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
        let answered = of_type(blocks, "tool_result", "tool_use_id");
        if answered != open {
            broken.push(format!(
                "message {index} answers {answered:?}, open were {open:?}"
            ));
        }
        let first_other = blocks
            .iter()
            .position(|block| block["type"] != "tool_result");
        let last_result = blocks
            .iter()
            .rposition(|block| block["type"] == "tool_result");
        if matches!((first_other, last_result), (Some(other), Some(result)) if other < result) {
            broken.push(format!("message {index} has results after other blocks"));
        }
        let is_empty = message["content"]
            .as_str()
            .is_some_and(|text| text.trim().is_empty())
            || message["content"].as_array().is_some_and(Vec::is_empty)
            || blocks.iter().any(|block| {
                block["type"] == "text"
                    && block["text"].as_str().unwrap_or_default().trim().is_empty()
            });
        if is_empty {
            broken.push(format!("message {index} has no text"));
        }
        open = of_type(blocks, "tool_use", "id");
    }
    if !open.is_empty() {
        broken.push(format!("calls {open:?} are not answered"));
    }
    broken
}

fn of_type<'a>(blocks: &'a [Value], kind: &str, field: &str) -> Vec<&'a str> {
    blocks
        .iter()
        .filter(|block| block["type"] == kind)
        .filter_map(|block| block[field].as_str())
        .collect()
}

/// The latest text that a user message holds.
pub(super) fn last_words(request: &Value) -> String {
    let messages = request["messages"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let texts = messages
        .iter()
        .filter(|message| message["role"] == "user")
        .flat_map(|message| match &message["content"] {
            Value::String(text) => vec![text.as_str()],
            blocks => of_type(
                blocks.as_array().map_or(&[][..], Vec::as_slice),
                "text",
                "text",
            ),
        });
    texts.last().unwrap_or_default().to_owned()
}

/// Whether this asks for a summary: no tools, and the question says so.
pub(super) fn is_summary(request: &Value) -> bool {
    let has_tools = request["tools"]
        .as_array()
        .is_some_and(|tools| !tools.is_empty());
    let words = format!("{}{}", request["system"], last_words(request)).to_lowercase();
    !has_tools && (words.contains("summar") || words.contains("sum up"))
}
