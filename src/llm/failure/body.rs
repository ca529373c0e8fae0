//! Reads the body of a refusal, in any of the usual shapes.
//!
//! Gateways quote the whole error of the server behind them, as an object, as JSON in a text, or after words of their
//! own.

use serde_json::Value;

use super::amounts::{retry_delay, wait_in, wait_in_fields};
use super::{Said, one_line};
use crate::clock;

/// Most details of a failure that are read.
const MAX_DETAILS: usize = 16;

/// How many levels of quoted errors are read.
const MAX_DEPTH: usize = 4;

/// Fields with the words of an error.
const MESSAGES: [&str; 6] = [
    "message",
    "detail",
    "msg",
    "errors",
    "error_message",
    "error_description",
];

/// The places where gateways put the error of the server behind them.
const BEHIND: [&str; 4] = ["/metadata/raw", "/upstream_error", "/cause", "/original"];

/// Reads an error body: an `error` object or text, by itself, in a list, or the object itself.
pub(super) fn read(body: &Value, depth: usize) -> Said {
    let body = body.get(0).unwrap_or(body);
    let error = match body.get("error") {
        Some(error) if !error.is_null() && error != false && error != true => error,
        _ => body,
    };
    let own = match error {
        Value::String(text) => in_text(text, depth),
        error => message(error, depth),
    };
    let fields = if error.is_string() { body } else { error };
    let behind = BEHIND.iter().find_map(|path| fields.pointer(path));
    let behind = behind.map_or_else(Said::default, |cause| match cause {
        Value::String(text) => in_text(text, depth),
        _ if depth >= MAX_DEPTH => Said::default(),
        cause => read(cause, depth + 1),
    });
    let word = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default();
    let kinds = [
        word("type"),
        word("code"),
        word("status"),
        &finer(fields),
        &own.kinds,
        &behind.kinds,
    ];
    let kinds: Vec<&str> = kinds.into_iter().filter(|kind| !kind.is_empty()).collect();
    let mut message = own.message;
    let cause = one_line(&behind.message);
    if !cause.is_empty() && !message.contains(&cause) {
        let between = if message.is_empty() { "" } else { ": " };
        message = format!("{message}{between}{cause}");
    }
    let parameter = word("param");
    if !parameter.is_empty() && !message.is_empty() && !message.contains(parameter) {
        message = format!("{message} ({parameter})");
    }
    Said {
        kinds: kinds.join(" ").to_ascii_lowercase(),
        code: number(fields, "code")
            .or_else(|| number(fields, "status"))
            .or(own.code)
            .or(behind.code),
        retry_after: retry_delay(fields)
            .or_else(|| wait_in_fields(fields, clock::now()))
            .or_else(|| wait_in(&message))
            .or(own.retry_after)
            .or(behind.retry_after),
        message,
    }
}

/// Reads the words of an error: a text, or details in a list or an object.
fn message(error: &Value, depth: usize) -> Said {
    let mut fields = MESSAGES.iter().filter_map(|key| error.get(key));
    let said = fields.find_map(|field| {
        let said = match field {
            Value::String(text) => in_text(text, depth),
            details => Said {
                message: words_in(details, 0),
                ..Said::default()
            },
        };
        (!said.message.is_empty()).then_some(said)
    });
    said.unwrap_or_default()
}

/// Reads an error in a text, which may quote another error as JSON.
fn in_text(text: &str, depth: usize) -> Said {
    let plain = || Said {
        message: text.to_owned(),
        ..Said::default()
    };
    let Some(at) = text.find(['{', '[']).filter(|_| depth < MAX_DEPTH) else {
        return plain();
    };
    let (before, quoted) = text.split_at(at);
    let quoted = serde_json::Deserializer::from_str(quoted)
        .into_iter::<Value>()
        .next();
    let Some(Ok(quoted)) = quoted else {
        return plain();
    };
    let said = read(&quoted, depth + 1);
    if said.message.is_empty() || !(quoted.is_object() || quoted[0].is_object()) {
        return plain();
    }
    let before = before.trim();
    let between = if before.is_empty() { "" } else { " " };
    Said {
        message: format!("{before}{between}{}", said.message),
        ..said
    }
}

/// Returns the words in details: FastAPI gives a list of objects, each with the path of a field.
fn words_in(details: &Value, depth: usize) -> String {
    let entries = match details {
        Value::Array(entries) => entries.as_slice(),
        only => std::slice::from_ref(only),
    };
    let words = entries.iter().take(MAX_DETAILS).filter_map(|entry| {
        let words = match entry {
            Value::String(text) => text.clone(),
            Value::Object(_) if depth < MAX_DEPTH => {
                let keys = MESSAGES.iter().chain(&["error"]);
                let fields = keys.filter_map(|key| entry.get(key));
                let mut words = fields.map(|field| words_in(field, depth + 1));
                words.find(|words| !words.is_empty())?
            }
            _ => return None,
        };
        let path = entry.get("loc").map_or_else(String::new, path);
        Some(if path.is_empty() {
            words
        } else {
            format!("{path}: {words}")
        })
    });
    words.collect::<Vec<_>>().join("; ")
}

/// Writes `["body", "messages", 0]` as `body.messages.0`.
fn path(steps: &Value) -> String {
    let steps = steps.as_array().map_or(&[][..], Vec::as_slice);
    let steps = steps.iter().filter_map(|step| match step {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    });
    steps.collect::<Vec<_>>().join(".")
}

/// Returns a status that `error` gives as a number or as text.
fn number(error: &Value, key: &str) -> Option<u16> {
    match error.get(key)? {
        Value::Number(number) => u16::try_from(number.as_u64()?).ok(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

/// Returns more specific words for the kind: Gemini's `API_KEY_INVALID` in one of several details, Anthropic's
/// `enforced_spend_limit_reached` in the only one.
fn finer(error: &Value) -> String {
    let details = match error.get("details") {
        Some(Value::Array(details)) => details.as_slice(),
        Some(only) => std::slice::from_ref(only),
        None => &[],
    };
    let words = details.iter().take(MAX_DETAILS).flat_map(|detail| {
        let word = |key: &str| detail.get(key).and_then(Value::as_str);
        ["reason", "error_code", "code", "type"]
            .into_iter()
            .filter_map(word)
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_words_are_found_in_every_shape() {
        let wrapped = json!({"type": "error", "error": {"type": "invalid_request_error", "message": "too big"}});
        for (body, words) in [
            (json!({"error": {"message": "no"}}), "no"),
            (json!([{"error": {"message": "no"}}]), "no"),
            (json!({"error": "no", "code": "invalid-argument"}), "no"),
            (json!({"error": true, "message": "no"}), "no"),
            (json!({"detail": "no"}), "no"),
            (json!({"detail": {"msg": "no"}}), "no"),
            (
                json!({"object": "error", "message": {"detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs"}]}}),
                "body.stream_options: Extra inputs",
            ),
            (
                json!({"message": "{\"detail\": [{\"loc\": [\"body\", \"top_k\"], \"msg\": \"Extra inputs\"}]}"}),
                "body.top_k: Extra inputs",
            ),
            (
                json!({"error": {"message": wrapped.to_string()}}),
                "too big",
            ),
            (
                json!({"error": {"message": format!("litellm.BadRequestError: AnthropicException - {wrapped}")}}),
                "litellm.BadRequestError: AnthropicException - too big",
            ),
            (
                json!({"error": {"message": "Provider returned error", "metadata": {"raw": wrapped.to_string()}}}),
                "Provider returned error: too big",
            ),
            (
                json!({"error": {"type": "request_fail", "upstream_error": wrapped}}),
                "too big",
            ),
            (
                json!({"error": {"message": "no", "param": "max_tokens"}}),
                "no (max_tokens)",
            ),
            (
                json!({"errors": [{"message": "one"}, {"message": "two"}]}),
                "one; two",
            ),
            (
                json!({"error": {"message": "range [1, 8192]"}}),
                "range [1, 8192]",
            ),
            (json!({"error": {"message": "a {b} c"}}), "a {b} c"),
            (json!({"status": "ok"}), ""),
        ] {
            assert_eq!(read(&body, 0).message, words, "{body}");
        }
    }

    #[test]
    fn the_end_of_a_limit_is_found_in_every_shape() {
        let in_hours = (clock::now().timestamp() + 7_200) * 1_000;
        for error in [
            json!({"message": "no", "resets_in_seconds": 7_200}),
            json!({"message": "no", "retry_after": "7200"}),
            json!({"message": "Rate limit exceeded: free-models-per-day", "code": 429,
                "metadata": {"headers": {"X-RateLimit-Reset": in_hours.to_string()}}}),
            json!({"message": "no", "resets_at": in_hours / 1_000}),
            json!({"message": "no", "details": [{"retryDelay": "7200s"}]}),
            json!({"message": "Please try again in 2h0m0s."}),
        ] {
            let wait = read(&json!({ "error": error }), 0).retry_after;
            let wait = wait.map_or(0, |wait| wait.as_secs());
            assert!((7_190..=7_200).contains(&wait), "{error}: {wait}");
        }
    }

    #[test]
    fn kinds_of_a_quoted_error_count() {
        let raw = json!({"error": {"code": "context_length_exceeded", "message": "long"}});
        let body = json!({"error": {"message": "Provider returned error", "metadata": {"raw": raw.to_string()}}});
        assert_eq!(read(&body, 0).kinds, "context_length_exceeded");
    }
}
