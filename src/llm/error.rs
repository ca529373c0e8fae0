//! Why there is no answer, and how to handle it.

use std::time::Duration;

pub use crate::domain::FailureClass;
use crate::domain::Usage;

/// Why there is no answer.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{provider}: {message}")]
pub struct LlmError {
    pub class: FailureClass,
    pub provider: String,
    /// One sentence for people, with the provider's own words if it gave any; no secrets.
    pub message: String,
    /// HTTP status, if there was one.
    pub status: Option<u16>,
    /// The wait that the provider asks for.
    pub retry_after: Option<Duration>,
    /// The provider's id of the request.
    pub request_id: Option<String>,
    /// Tokens counted before it failed; they are paid for anyway.
    pub usage: Option<Box<Usage>>,
}

impl LlmError {
    /// Returns the same error without the provider's words, which may quote the conversation.
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
