//! Why a tool call gave no result.

/// Why a tool call gave no result.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The model can correct this; it is shown the text, which says what was wrong and what to try.
    #[error("{0}")]
    Rejected(String),
    /// We cannot serve the call; the operator is told why, the model that it could not run.
    #[error("the tool could not run: {0}")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl ToolError {
    /// The call is refused for a reason the model can act on.
    pub fn rejected(reason: impl Into<String>) -> Self {
        Self::Rejected(reason.into())
    }

    /// The call failed for a reason of ours.
    pub fn failed(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Failed(cause.into())
    }
}
