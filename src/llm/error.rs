//! Why there is no answer, and how that is handled.

use std::time::Duration;

pub use crate::domain::FailureClass;
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
    /// Tokens counted before it failed; they are paid for nevertheless.
    pub usage: Option<Box<Usage>>,
}

impl LlmError {
    /// The same without the provider's words, which may quote the conversation.
    #[must_use]
    pub fn without_words(&self) -> Self {
        let message = match self.status {
            Some(status) => format!("HTTP {status}"),
            None => self.class.as_str().replace('_', " "),
        };
        Self {
            message,
            ..self.clone()
        }
    }
}
