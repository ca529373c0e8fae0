//! Discord's answers: values, limits, refusals.

use std::time::Duration;

use reqwest::Response;
use serde_json::Value;

use super::body::clip;
use super::limits::{Scope, Seen};
use crate::domain::MessageId;

/// Discord's code for a reply in a channel with a history that the bot may not read.
const NO_HISTORY: u64 = 160_002;

/// Discord's code for an interaction that already has its first answer.
const ALREADY_ANSWERED: u64 = 40_060;

/// Most characters kept of a refusal's message.
const MAX_MESSAGE: usize = 500;

/// Why a request failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RestError {
    /// Discord refused the bot's token; no further request is made.
    #[error(
        "Discord refused the bot's token, so nothing can be sent; set a valid DISCORD_TOKEN and restart"
    )]
    Unauthorized,
    /// A request that may be skipped would have had to wait.
    #[error("Discord's rate limit leaves no room now")]
    Busy,
    /// Discord refused the request.
    #[error("Discord refused: {message} (HTTP {status}, code {code})")]
    Refused {
        status: u16,
        /// Discord's own error code, 0 if there is none.
        code: u64,
        /// Discord's words.
        message: String,
        /// The fields of our JSON that it rejected, each with the reason.
        fields: Vec<String>,
    },
    /// It may or may not have arrived.
    #[error("Discord cannot be reached: {0}")]
    Unreachable(String),
}

impl RestError {
    /// Returns whether the thing does not exist (any longer).
    pub fn is_gone(&self) -> bool {
        matches!(self, Self::Refused { status: 404, .. })
    }

    /// Returns whether the interaction already has its first answer.
    pub fn is_answered_already(&self) -> bool {
        self.code() == Some(ALREADY_ANSWERED)
    }

    /// Returns whether we are missing a permission for it.
    pub fn is_forbidden(&self) -> bool {
        matches!(self, Self::Refused { status: 403, .. })
    }

    /// Returns whether Discord does not accept the reply's reference: that message is of another kind or channel, or
    /// the bot may not read the channel's history.
    pub fn is_of_reference(&self) -> bool {
        let Self::Refused { code, fields, .. } = self else {
            return false;
        };
        let is_named = fields
            .iter()
            .any(|field| field.starts_with("message_reference"));
        is_named || *code == NO_HISTORY
    }

    /// Returns Discord's error code of a refusal.
    pub fn code(&self) -> Option<u64> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            Self::Unauthorized | Self::Busy | Self::Unreachable(_) => None,
        }
    }
}

/// Returns the information about limits in an answer's headers.
pub(super) fn seen(response: &Response) -> Seen {
    let header = |name: &str| response.headers().get(name)?.to_str().ok();
    let seconds = |name: &str| header(name).and_then(to_seconds);
    let is_global = header("x-ratelimit-global").is_some();
    Seen {
        status: response.status().as_u16(),
        bucket: header("x-ratelimit-bucket").map(str::to_owned),
        remaining: header("x-ratelimit-remaining").and_then(|left| left.parse().ok()),
        reset_after: seconds("x-ratelimit-reset-after"),
        retry_after: seconds("retry-after"),
        scope: match header("x-ratelimit-scope") {
            Some("global") => Scope::Global,
            Some("shared") => Scope::Shared,
            Some(_) | None if is_global => Scope::Global,
            Some(_) | None => Scope::User,
        },
    }
}

fn to_seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.trim().parse().ok()?).ok()
}

/// Completes the information about limits from a 429: its body has the wait to the millisecond, the header only in
/// whole seconds. A 429 without Discord's body comes from a proxy before it, and concerns all requests; `unsaid` is the
/// wait if neither names one.
pub(super) fn complete_from_body(seen: &mut Seen, body: &Value, unsaid: Duration) {
    let exact = body["retry_after"]
        .as_f64()
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    if body["global"].as_bool() == Some(true) || exact.is_none() {
        seen.scope = Scope::Global;
    }
    seen.retry_after = exact.or(seen.retry_after).or(Some(unsaid));
}

/// Returns a refusal with Discord's own message, and the faults of single fields.
pub(super) fn refusal(status: u16, body: &Value) -> RestError {
    let faults = faults(&body["errors"]);
    let mut message = body["message"]
        .as_str()
        .unwrap_or("no reason given")
        .to_owned();
    for (field, why) in &faults {
        message.push_str(&format!("; {field}: {why}"));
    }
    RestError::Refused {
        status,
        code: body["code"].as_u64().unwrap_or_default(),
        message: clip(&message, MAX_MESSAGE),
        fields: faults.into_iter().map(|(field, _)| field).collect(),
    }
}

/// Returns Discord's tree of errors as pairs of a field's path and its fault.
fn faults(errors: &Value) -> Vec<(String, String)> {
    let mut faults = Vec::new();
    let mut left = vec![(String::new(), errors)];
    while let Some((path, node)) = left.pop() {
        for (key, below) in node.as_object().into_iter().flatten() {
            if key != "_errors" {
                let dot = if path.is_empty() { "" } else { "." };
                left.push((format!("{path}{dot}{key}"), below));
                continue;
            }
            let words = below.as_array().into_iter().flatten();
            let words = words.filter_map(|one| one["message"].as_str());
            faults.extend(words.map(|why| (path.clone(), why.to_owned())));
        }
    }
    faults
}

/// Returns the id in a message's JSON.
///
/// # Errors
///
/// Fails if it is missing: the server that answered is not Discord.
pub fn message_id(message: &Value) -> Result<MessageId, RestError> {
    snowflake(&message["id"])
        .map(MessageId)
        .ok_or_else(|| RestError::Unreachable("its answer holds no message id".into()))
}

/// Returns a snowflake in JSON.
pub fn snowflake(value: &Value) -> Option<u64> {
    value.as_str()?.parse().ok()
}
