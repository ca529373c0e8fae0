//! The scripted model's context window: what a request takes of it, and the words a provider refuses with.

use axum::http::StatusCode;
use serde_json::{Value, json};

/// Tokens of a request as a provider would count them, a little more than four characters make: tokenizers find about
/// 3.6 letters of English in one, and one or two for each letter that is not Latin.
pub(super) fn counted(request: &Value) -> u64 {
    let system = texts(&request["system"]);
    let messages = texts(&request["messages"]);
    let tools = request["tools"].as_array().map_or(0.0, |tools| {
        tools.iter().map(|tool| of_text(&tool.to_string())).sum()
    });
    (system + messages + tools).ceil() as u64
}

/// Every text below `value`, and a few tokens for the frame of each block.
fn texts(value: &Value) -> f64 {
    match value {
        Value::String(text) => of_text(text),
        Value::Array(list) => list.iter().map(|one| texts(one) + 2.0).sum(),
        Value::Object(map) => map
            .iter()
            .filter(|(key, _)| !matches!(key.as_str(), "type" | "role" | "cache_control"))
            .map(|(_, value)| texts(value))
            .sum(),
        Value::Number(_) | Value::Bool(_) | Value::Null => 1.0,
    }
}

fn of_text(text: &str) -> f64 {
    let latin = text.chars().filter(char::is_ascii).count();
    let other = text.chars().count() - latin;
    latin as f64 / 3.6 + other as f64 * 1.2
}

/// What a provider says to a request that takes more than `window`: the status and the body of its refusal.
pub(super) fn overflow(request: &Value, window: u64) -> Option<(StatusCode, Value)> {
    let input = counted(request);
    let answer = request["max_tokens"].as_u64().unwrap_or_default();
    let message = if input > window {
        format!("prompt is too long: {input} tokens > {window} maximum")
    } else if input + answer > window {
        format!(
            "input length and `max_tokens` exceed context limit: {input} + {answer} > {window}, \
             decrease input length or `max_tokens` and try again"
        )
    } else {
        return None;
    };
    let error = json!({"type": "invalid_request_error", "message": message});
    Some((
        StatusCode::BAD_REQUEST,
        json!({"type": "error", "error": error}),
    ))
}
