//! Why there is no answer, and what follows from it.

use std::time::Duration;

use crate::domain::Usage;

/// Why there is no answer.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{provider}: {message}")]
pub struct LlmError {
    pub class: FailureClass,
    pub provider: String,
    /// One sentence for people, with the provider's own words where it gave some; no secrets.
    pub message: String,
    /// HTTP status, when there was one.
    pub status: Option<u16>,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
    /// The provider's id of the request.
    pub request_id: Option<String>,
    /// Tokens counted before it failed; they are paid all the same.
    pub usage: Option<Box<Usage>>,
}

/// Failure classes and what follows from each, as `docs/models.md` tables them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// 429 or 529: another target, or wait.
    RateLimit,
    /// The key is refused: target out for the turn, operator told once.
    AuthError,
    /// No credit left: as [`FailureClass::AuthError`].
    QuotaExceeded,
    /// 400 or 404: target out for the turn.
    ModelError,
    /// 5xx: another attempt.
    ServerError,
    /// The line failed: another attempt.
    NetworkError,
    /// No content for too long: another attempt.
    Timeout,
    /// The answer was cut or makes no sense: another attempt.
    InvalidResponse,
    /// The conversation does not fit the window.
    ContextExceeded,
    /// The wire format cannot express the request; ours to correct.
    InvalidRequest,
}

impl FailureClass {
    /// The word that accounts, logs and failure reports use.
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
