//! Classifies a failure by the provider's status, words and headers.
//!
//! The table is in `docs/models.md`. Everything here is pure.

mod amounts;
mod body;
mod wordings;

use std::io;
use std::time::Duration;

use chrono::{DateTime, Utc};
use reqwest::header::HeaderMap;
use serde_json::Value;

pub(super) use amounts::{most_pictures_in, output_limit_in, window_in};
pub(super) use wordings::About;

use super::error::{FailureClass, LlmError};
use amounts::{exceeds_limit_alone, retry_after};
use wordings::contains_any;

/// Longest text of a provider that is passed on.
const MAX_MESSAGE: usize = 400;

/// The failure of one request, without the provider's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ApiError {
    pub(super) class: FailureClass,
    /// One sentence for people.
    pub(super) message: String,
    /// HTTP status, if that was the failure.
    pub(super) status: Option<u16>,
    /// The wait that the provider asks for.
    pub(super) retry_after: Option<Duration>,
}

impl ApiError {
    /// Creates an error of `class` without a status.
    pub(super) fn new(class: FailureClass, message: impl Into<String>) -> Self {
        Self {
            class,
            message: message.into(),
            status: None,
            retry_after: None,
        }
    }

    /// Creates the error for an answer that was cut off or is invalid.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(FailureClass::InvalidResponse, message)
    }

    /// Creates the error for an answer with a stream that ended early.
    pub(super) fn cut() -> Self {
        Self::invalid("the answer was cut off before its end")
    }
}

/// A provider's description of its failure, in one of the usual shapes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    /// Its words for the kind, in lower case, separated by blanks: type, code, status.
    kinds: String,
    /// Its numeric code.
    code: Option<u16>,
    message: String,
    /// The wait that the body asks for.
    retry_after: Option<Duration>,
}

impl Said {
    /// Reads an error body: see [`body`].
    pub(super) fn read(value: &Value) -> Self {
        body::read(value, 0)
    }

    /// Reads an error body. Text that is not JSON is not quoted, because it is a proxy's page.
    pub(super) fn read_bytes(body: &[u8]) -> Self {
        serde_json::from_slice(body).map_or_else(|_| Self::default(), |value| Self::read(&value))
    }

    /// Returns the error of an HTTP answer with `status`.
    pub(super) fn with_status(
        &self,
        status: u16,
        headers: &HeaderMap,
        now: DateTime<Utc>,
    ) -> ApiError {
        let retry_after = retry_after(headers, now).or(self.retry_after);
        let class = self.class_of(status, retry_after);
        ApiError {
            class: match (class, should_retry(headers)) {
                (FailureClass::ModelError, Some(true)) => FailureClass::ServerError,
                (FailureClass::ServerError, Some(false)) => FailureClass::ModelError,
                (class, _) => class,
            },
            message: self.sentence(&format!("HTTP {status}")),
            status: Some(status),
            retry_after,
        }
    }

    /// Returns the error of an error event inside an answer that began with status 200.
    pub(super) fn within_stream(&self) -> ApiError {
        let status = self
            .code
            .filter(|code| (400..600).contains(code))
            .unwrap_or_else(|| self.status_of_kinds());
        ApiError {
            class: self.class_of(status, self.retry_after),
            message: self.sentence("the provider stopped in the middle of the answer"),
            status: None,
            retry_after: self.retry_after,
        }
    }

    fn class_of(&self, status: u16, retry_after: Option<Duration>) -> FailureClass {
        let names_context =
            matches!(status, 400 | 413 | 422 | 500..=503) && self.says(About::Length);
        match status {
            _ if names_context => FailureClass::ContextExceeded,
            // The request by itself has more tokens than a minute allows: waiting does not help, a shorter request
            // does.
            429 if exceeds_limit_alone(&self.message) => FailureClass::ContextExceeded,
            // OpenRouter's moderation of the request's content.
            403 if self.says(About::Flagged) => FailureClass::ModelError,
            401 | 403 => FailureClass::AuthError,
            402 => FailureClass::QuotaExceeded,
            429 if self.says_spent(retry_after) => FailureClass::QuotaExceeded,
            400 if self.says(About::NoCredit) => FailureClass::QuotaExceeded,
            400 if self.says(About::BadKey) => FailureClass::AuthError,
            429 | 529 => FailureClass::RateLimit,
            408 => FailureClass::Timeout,
            // A lock that another request held: the official clients retry.
            409 => FailureClass::ServerError,
            413 => FailureClass::ContextExceeded,
            400..=499 => FailureClass::ModelError,
            500..=599 => FailureClass::ServerError,
            _ => FailureClass::InvalidResponse,
        }
    }

    /// Returns the status that the same words would have had before the answer began.
    fn status_of_kinds(&self) -> u16 {
        const KINDS: &[(u16, &[&str])] = &[
            (529, &["overloaded"]),
            (
                402,
                &["insufficient_quota", "billing", "spend_limit", "payment"],
            ),
            (
                429,
                &["rate_limit", "resource_exhausted", "too_many_requests"],
            ),
            (
                401,
                &[
                    "authentication",
                    "invalid_api_key",
                    "api_key_invalid",
                    "unauthenticated",
                    "unauthorized",
                ],
            ),
            (403, &["permission", "forbidden"]),
            (413, &["request_too_large"]),
            (404, &["not_found"]),
            (
                400,
                &[
                    "invalid_request",
                    "invalid_argument",
                    "invalid_prompt",
                    "context_length",
                    "exceed_context",
                ],
            ),
        ];
        let known = KINDS
            .iter()
            .find(|(_, words)| contains_any(&self.kinds, words));
        known.map_or(500, |(status, _)| *status)
    }

    /// Returns whether a 429 is about an exhausted quota, so that waiting does not help. The word quota in a sentence
    /// counts only if the sentence names neither a wait nor a rate: OpenAI's sentence about rates mentions billing.
    fn says_spent(&self, retry_after: Option<Duration>) -> bool {
        let names_rate = self.kinds.contains("rate_limit_exceeded");
        let in_words = retry_after.is_none() && !names_rate;
        let message = if in_words { self.message.as_str() } else { "" };
        About::Spent.is_said(message, &self.kinds)
    }

    fn says(&self, about: About) -> bool {
        about.is_said(&self.message, &self.kinds)
    }

    fn sentence(&self, what: &str) -> String {
        let message = one_line(&self.message);
        let kind = self.kinds.split_whitespace().next();
        match (message.is_empty(), kind) {
            (false, _) => format!("{what}: {message}"),
            (true, Some(kind)) => format!("{what}: {kind}"),
            (true, None) => what.to_owned(),
        }
    }
}

/// Returns whether a refusal of the request itself may be about its length: its words name no other known cause.
pub(super) fn may_be_length(error: &LlmError) -> bool {
    matches!(error.status, Some(400 | 413 | 422))
        && error.class == FailureClass::ModelError
        && !About::NoTools.is_in(&error.message)
        && !About::OtherThanLength.is_in(&error.message)
}

/// Returns `text` on one line, without control characters, up to a bound.
pub(super) fn one_line(text: &str) -> String {
    let plain = text
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter });
    let mut line: String = plain.take(MAX_MESSAGE).collect();
    if text.chars().nth(MAX_MESSAGE).is_some() {
        line.push('…');
    }
    line.trim().to_owned()
}

/// Returns whether the provider allows the same request to be sent again; the official clients follow it.
fn should_retry(headers: &HeaderMap) -> Option<bool> {
    match headers.get("x-should-retry")?.to_str().ok()?.trim() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// Creates the error for an endpoint that was silent for too long.
pub(super) fn silent() -> ApiError {
    ApiError::new(FailureClass::Timeout, "no content for too long")
}

/// Describes a failure below HTTP for people: what an endpoint did, and the deepest cause. Without the URL, which can
/// contain a key.
pub fn of_connection_in_words(error: &reqwest::Error) -> String {
    of_connection(error).message
}

/// The message for a certificate from an authority that this machine does not know.
const UNKNOWN_AUTHORITY: &str = "has a certificate of an authority that this machine does not know (UnknownIssuer): \
    add the authority to the certificates of the system, or name its file in SSL_CERT_FILE";

/// Returns the class of a failure below HTTP.
pub(super) fn of_connection(error: &reqwest::Error) -> ApiError {
    let mut cause: &(dyn std::error::Error + 'static) = error;
    let mut broke = false;
    loop {
        broke |= cause
            .downcast_ref::<io::Error>()
            .is_some_and(is_of_the_line);
        match cause.source() {
            Some(deeper) => cause = deeper,
            None => break,
        }
    }
    let (class, what) = match error {
        error if error.is_timeout() => (FailureClass::Timeout, "timed out"),
        error if error.is_connect() => (FailureClass::NetworkError, "cannot be reached"),
        error if error.is_decode() && !broke => (
            FailureClass::InvalidResponse,
            "sent an answer that cannot be read",
        ),
        error if error.is_builder() => (
            FailureClass::InvalidRequest,
            "has an address that makes no request",
        ),
        _ => (FailureClass::NetworkError, "closed the connection"),
    };
    let deepest = one_line(&cause.to_string());
    let names_url = error
        .url()
        .is_some_and(|url| deepest.contains(url.as_str()));
    if deepest.contains("UnknownIssuer") {
        return ApiError::new(class, UNKNOWN_AUTHORITY);
    }
    if names_url || deepest.is_empty() {
        ApiError::new(class, what)
    } else {
        ApiError::new(class, format!("{what} ({deepest})"))
    }
}

/// Returns whether the connection ended, as opposed to an invalid body.
fn is_of_the_line(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(
        error.kind(),
        UnexpectedEof | ConnectionReset | ConnectionAborted | BrokenPipe
    )
}
