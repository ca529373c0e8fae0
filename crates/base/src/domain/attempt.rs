//! The purpose and the outcome of an attempt: a request to a model, or a run of a tool.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Failure classes and how each is handled, as the table in `docs/models.md` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// 429 or 529: another target, or wait.
    RateLimit,
    /// The key is refused: the target is out for the turn, and the operator gets one notice.
    AuthError,
    /// No credit left: as [`FailureClass::AuthError`].
    QuotaExceeded,
    /// 400 or 404: target out for the turn.
    ModelError,
    /// 5xx: another attempt.
    ServerError,
    /// The connection failed: another attempt.
    NetworkError,
    /// No content for too long: another attempt.
    Timeout,
    /// The answer was cut off or makes no sense: another attempt.
    InvalidResponse,
    /// The conversation does not fit the window.
    ContextExceeded,
    /// The wire format cannot express the request: a mistake in this program.
    InvalidRequest,
}

impl FailureClass {
    pub const ALL: [Self; 10] = [
        Self::RateLimit,
        Self::AuthError,
        Self::QuotaExceeded,
        Self::ModelError,
        Self::ServerError,
        Self::NetworkError,
        Self::Timeout,
        Self::InvalidResponse,
        Self::ContextExceeded,
        Self::InvalidRequest,
    ];

    /// Returns the word that accounts, logs and failure reports use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RateLimit => "rate_limit",
            Self::AuthError => "auth_error",
            Self::QuotaExceeded => "quota_exceeded",
            Self::ModelError => "model_error",
            Self::ServerError => "server_error",
            Self::NetworkError => "network_error",
            Self::Timeout => "timeout",
            Self::InvalidResponse => "invalid_response",
            Self::ContextExceeded => "context_exceeded",
            Self::InvalidRequest => "invalid_request",
        }
    }
}

/// The kind of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptKind {
    /// A step of a turn.
    Model,
    Tool,
    /// An auxiliary request: a summary of a session.
    Summary,
    /// An auxiliary request: the summary that begins the rest of a conversation.
    Compaction,
    /// An auxiliary request: a better summary of the compacted messages.
    Refine,
    /// An auxiliary request: hooks made from a description in words.
    Hooks,
    /// An auxiliary request: a question about a long output.
    Reading,
    /// A wait for a place at a provider; no request is sent.
    Queue,
}

impl AttemptKind {
    const ALL: [Self; 8] = [
        Self::Model,
        Self::Tool,
        Self::Summary,
        Self::Compaction,
        Self::Refine,
        Self::Hooks,
        Self::Reading,
        Self::Queue,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Tool => "tool",
            Self::Summary => "summary",
            Self::Compaction => "compaction",
            Self::Refine => "refine",
            Self::Hooks => "hooks",
            Self::Reading => "reading",
            Self::Queue => "queue",
        }
    }
}

/// The outcome of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptOutcome {
    Ok,
    /// The model did not answer.
    Failed(FailureClass),
    /// The tool gave an error.
    ToolError,
    /// A stop cut it short.
    Stopped,
}

impl AttemptOutcome {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed(class) => class.as_str(),
            Self::ToolError => "error",
            Self::Stopped => "stopped",
        }
    }
}

/// No attempt is stored under this word.
#[derive(Clone, Debug, thiserror::Error)]
#[error("unknown word: {0}")]
pub struct UnknownAttempt(String);

impl FromStr for AttemptKind {
    type Err = UnknownAttempt;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|kind| kind.as_str() == word);
        found.ok_or_else(|| UnknownAttempt(word.to_owned()))
    }
}

impl FromStr for AttemptOutcome {
    type Err = UnknownAttempt;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let failures = FailureClass::ALL.map(Self::Failed);
        let mut all = [Self::Ok, Self::ToolError, Self::Stopped]
            .into_iter()
            .chain(failures);
        all.find(|outcome| outcome.as_str() == word)
            .ok_or_else(|| UnknownAttempt(word.to_owned()))
    }
}

impl fmt::Display for AttemptOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
