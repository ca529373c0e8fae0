//! Amounts and times in a refusal: the window, the wait, the tokens per minute.

use std::sync::LazyLock;
use std::time::Duration;

use chrono::{DateTime, Utc};
use regex::Regex;
use reqwest::header::HeaderMap;
use serde_json::Value;

/// Longest wait that is believed: a monthly quota. The router does not wait longer than its own maximum.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(31 * 86_400);

/// Returns the window that a provider names in its refusal of a request as too long.
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

/// Returns the most output tokens that a refusal names, if it is about them.
pub(in crate::llm) fn output_limit_in(sentence: &str) -> Option<u32> {
    static ABOUT: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?i-u)max_?(?:completion_?|output_?|new_?)?tokens|maximum tokens|(?:completion|output) tokens").ok()
    });
    static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let before = "at most|less than or equal to|lower than or equal to|smaller than or equal to|<=|tokens: [0-9]{1,9} >\
            |model limit of|maximum value (?:is|of)|maximum (?:of|is)|limit is|up to|should be \\[[0-9]+,|max_tokens is \\[[0-9]+,\
            |\\[[0-9]+,|inclusive\\) to";
        Regex::new(&format!(r"(?i-u)(?:{before})\s*[`'\x22]?([0-9]{{2,8}})\b")).ok()
    });
    if !ABOUT.as_ref()?.is_match(sentence) {
        return None;
    }
    let named = NAMED.as_ref()?.captures(sentence)?;
    let tokens: u32 = named.get(1)?.as_str().parse().ok()?;
    // Vertex names the first number that is too large.
    Some(tokens - u32::from(sentence.contains("(exclusive)") && tokens > 0))
}

/// Returns how many pictures a request may have according to a refusal.
pub(in crate::llm) fn most_pictures_in(sentence: &str) -> Option<usize> {
    static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let before = "at most|maximum (?:of|is)|max(?:imum)? allowed (?:is|of)|max(?:imum)? is|limit(?: is| of)?|up to|no more than";
        Regex::new(&format!(
            r"(?i-u)(?:{before})\s*[:=]?\s*([0-9]{{1,4}})\b(?: *(?P<unit>[a-z]+))?"
        ))
        .ok()
    });
    const UNITS: [&str; 9] = [
        "mb",
        "mib",
        "kb",
        "kib",
        "gb",
        "bytes",
        "pixels",
        "px",
        "megapixels",
    ];
    let mut named = NAMED.as_ref()?.captures_iter(sentence);
    let count = named.find(|found| {
        let unit = found.name("unit").map_or("", |unit| unit.as_str());
        !UNITS.contains(&unit.to_ascii_lowercase().as_str())
    })?;
    count.get(1)?.as_str().parse().ok()
}

/// Returns the tokens that a minute allows and those that the request needs, if a refusal names both.
fn tokens_per_minute(sentence: &str) -> Option<(u64, u64)> {
    static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?i)tokens per (?:min|minute)\b[^\n]{0,80}?limit:? ([0-9]{1,12})\b[^\n]{0,80}?requested:? ([0-9]{1,12})\b").ok()
    });
    let named = NAMED.as_ref()?.captures(sentence)?;
    let number = |at| named.get(at)?.as_str().parse().ok();
    Some((number(1)?, number(2)?))
}

/// Returns whether the request has more tokens than the provider accepts in a whole minute.
pub(super) fn exceeds_limit_alone(sentence: &str) -> bool {
    tokens_per_minute(sentence).is_some_and(|(limit, requested)| requested > limit)
}

/// Returns the wait that a refusal names in words: `try again in 7m12.5s`, `retry after 30 seconds`, `reset after 2
/// hours`.
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

/// Reads Gemini's `RetryInfo`: `"retryDelay": "34.1s"`.
pub(super) fn retry_delay(error: &Value) -> Option<Duration> {
    let details = error.get("details")?.as_array()?;
    let text = details
        .iter()
        .find_map(|detail| detail.get("retryDelay")?.as_str())?;
    seconds(text.trim_end_matches('s'))
}

/// Returns the wait that a body names in a field: seconds, or the time at which a limit ends, in seconds or
/// milliseconds since 1970.
pub(super) fn wait_in_fields(error: &Value, now: DateTime<Utc>) -> Option<Duration> {
    const SECONDS: [&str; 4] = [
        "/resets_in_seconds", // ChatGPT's subscriptions
        "/retry_after",
        "/retry_after_seconds",
        "/metadata/retry_after_seconds",
    ];
    const ENDS: [&str; 3] = [
        "/resets_at",
        "/metadata/headers/X-RateLimit-Reset", // OpenRouter
        "/reset_at",
    ];
    let number = |path: &&str| match error.pointer(path)? {
        Value::String(text) => text.trim().parse::<f64>().ok(),
        value => value.as_f64(),
    };
    if let Some(wait) = SECONDS.iter().find_map(number) {
        return seconds(&wait.to_string());
    }
    until(ENDS.iter().find_map(number)?, now)
}

/// Smaller numbers are seconds from now, not since 1970.
const SINCE_1970: f64 = 1e9;

/// Returns the wait until a time in seconds or milliseconds since 1970; `None` if it is past.
fn until(ends: f64, now: DateTime<Utc>) -> Option<Duration> {
    let ends = if ends > 1e11 { ends / 1_000.0 } else { ends };
    let wait = ends - now.timestamp() as f64;
    (wait > 0.0).then(|| seconds(&wait.to_string()))?
}

/// Returns the wait in the headers: `retry-after-ms`, `retry-after` in seconds or as a date, or OpenRouter's
/// `x-ratelimit-reset`, the time at which the limit ends.
pub(super) fn retry_after(headers: &HeaderMap, now: DateTime<Utc>) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(wait) = text("retry-after-ms").and_then(seconds) {
        return Some(wait / 1_000);
    }
    let Some(text) = text("retry-after") else {
        let ends = text("x-ratelimit-reset")?.parse().ok()?;
        return until(ends, now).filter(|_| ends > SINCE_1970);
    };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_output_is_read_in_the_words_of_each_vendor() {
        for (sentence, tokens) in [
            (
                "max_tokens is too large: 32000. This model supports at most 16384 completion tokens, whereas you provided 32000.",
                16_384,
            ),
            (
                "max_tokens: 16384 > 8192, which is the maximum allowed number of output tokens for claude-3-5-haiku",
                8_192,
            ),
            (
                "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
                8_192,
            ),
            ("Range of max_tokens should be [1, 8192]", 8_192),
            (
                "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for this model",
                8_192,
            ),
            (
                "The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum tokens value that is lower than 4096.",
                4_096,
            ),
            (
                "it has a maxOutputTokens value of 70000 but the supported range is from 1 (inclusive) to 65537 (exclusive).",
                65_536,
            ),
        ] {
            assert_eq!(output_limit_in(sentence), Some(tokens), "{sentence}");
        }
        for sentence in [
            "at most 5 image(s) may be provided",
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        ] {
            assert_eq!(output_limit_in(sentence), None, "{sentence}");
        }
    }

    #[test]
    fn a_number_of_pictures_is_read_in_the_words_of_each_vendor() {
        for (sentence, most) in [
            (
                "At most 5 image(s) may be provided in one request.",
                Some(5),
            ),
            ("At most 1 image(s) may be provided in one prompt.", Some(1)),
            (
                "Too many images in request: 11 images provided, but the model supports a maximum of 10 images.",
                Some(10),
            ),
            ("Too many images in request. Max is 10.", Some(10)),
            (
                "request contains 52 images, exceeding the maximum of 50 allowed per request",
                Some(50),
            ),
            ("Image count 5 exceeds limit 4 per request.", Some(4)),
            (
                "too many images in the message, max allowed is 16",
                Some(16),
            ),
            (
                "image exceeds 5 MB maximum: 5283160 bytes > 5242880 bytes",
                None,
            ),
            ("image size must be at most 20 MB", None),
            ("Could not process image", None),
        ] {
            assert_eq!(most_pictures_in(sentence), most, "{sentence}");
        }
    }
}
