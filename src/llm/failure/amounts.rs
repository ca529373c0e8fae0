//! Amounts and times in a refusal: the window, the wait, the tokens of a minute.

use std::sync::LazyLock;
use std::time::Duration;

use chrono::{DateTime, Utc};
use regex::Regex;
use reqwest::header::HeaderMap;
use serde_json::Value;

/// Longest wait that is believed: a monthly quota. The router waits no longer than its own maximum.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(31 * 86_400);

/// The window that a provider names in the sentence with which it refuses a request as too long.
pub(in crate::llm) fn window_in(sentence: &str) -> Option<u64> {
    static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let before = "maximum context length (?:is|of)|context size|context length of(?: only)?|context window (?:is|of)\
            |tokens allowed|exceed context limit: \\d+ \\+ \\d+ >|tokens >|maximum prompt length is|exceeds the limit of\
            |model token limit:|input length should be \\[\\d+,|max_model_len(?: of| is)?|maximum model length of";
        Regex::new(&format!(r"(?i-u)(?:{before})\s*\(?(\d{{3,9}})\b")).ok()
    });
    if let Some((limit, requested)) = tokens_per_minute(sentence)
        && requested > limit
    {
        return Some(limit);
    }
    let named = NAMED.as_ref()?.captures(sentence)?;
    named.get(1)?.as_str().parse().ok()
}

/// The tokens that a minute allows and those that the request asks for, where a refusal names both.
fn tokens_per_minute(sentence: &str) -> Option<(u64, u64)> {
    static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?i)tokens per (?:min|minute)\b[^\n]{0,80}?limit:? ([0-9]{1,12})\b[^\n]{0,80}?requested:? ([0-9]{1,12})\b").ok()
    });
    let named = NAMED.as_ref()?.captures(sentence)?;
    let number = |at| named.get(at)?.as_str().parse().ok();
    Some((number(1)?, number(2)?))
}

/// Whether the request has more tokens than the provider takes in a whole minute.
pub(super) fn exceeds_limit_alone(sentence: &str) -> bool {
    tokens_per_minute(sentence).is_some_and(|(limit, requested)| requested > limit)
}

/// The wait that a refusal names in words: `try again in 7m12.5s`, `retry after 30 seconds`, `reset after 2 hours`.
pub(super) fn wait_in(sentence: &str) -> Option<Duration> {
    static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?i-u)(?:try again|retry|resets?|available again) (?:in|after) ((?:[0-9.]{1,12} ?(?:ms|milliseconds?|days?|d|hours?|h|minutes?|mins?|m|seconds?|secs?|s)[ ,]*(?:and )?){1,4})\b").ok()
    });
    static PART: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?i-u)([0-9.]{1,12}) ?(ms|milli|d|h|m|s)").ok());
    let named = NAMED.as_ref()?.captures(sentence)?;
    let mut wait = Duration::ZERO;
    for part in PART.as_ref()?.captures_iter(named.get(1)?.as_str()) {
        let unit = match part.get(2)?.as_str().to_ascii_lowercase().as_str() {
            "ms" | "milli" => 0.001,
            "d" => 86_400.0,
            "h" => 3_600.0,
            "m" => 60.0,
            _ => 1.0,
        };
        let number: f64 = part.get(1)?.as_str().parse().ok()?;
        wait += seconds(&(number * unit).to_string())?;
    }
    Some(wait.min(MAX_RETRY_AFTER))
}

/// Gemini's `RetryInfo`: `"retryDelay": "34.1s"`.
pub(super) fn retry_delay(error: &Value) -> Option<Duration> {
    let details = error.get("details")?.as_array()?;
    let text = details
        .iter()
        .find_map(|detail| detail.get("retryDelay")?.as_str())?;
    seconds(text.trim_end_matches('s'))
}

/// The wait that the headers ask for: `retry-after-ms`, or `retry-after` in seconds or as a date.
pub(super) fn retry_after(headers: &HeaderMap, now: DateTime<Utc>) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(wait) = text("retry-after-ms").and_then(seconds) {
        return Some(wait / 1_000);
    }
    let text = text("retry-after")?;
    seconds(text).or_else(|| {
        let until = DateTime::parse_from_rfc2822(text).ok()?.with_timezone(&Utc);
        Some(
            (until - now)
                .to_std()
                .unwrap_or_default()
                .min(MAX_RETRY_AFTER),
        )
    })
}

fn seconds(text: &str) -> Option<Duration> {
    let number: f64 = text.parse().ok()?;
    let wait = Duration::try_from_secs_f64(number.max(0.0)).unwrap_or(MAX_RETRY_AFTER);
    Some(wait.min(MAX_RETRY_AFTER))
}
