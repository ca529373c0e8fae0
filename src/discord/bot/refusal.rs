//! Why a command, a button or a form was not served, in a sentence for its user.

use tracing::error;

use crate::manager::ManagerError;
use crate::store::StoreError;

/// Why a command was not carried out: a sentence for its user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(in crate::discord) struct Refusal(pub(in crate::discord) String);

impl Refusal {
    pub(in crate::discord) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl From<ManagerError> for Refusal {
    fn from(error: ManagerError) -> Self {
        if let ManagerError::Failed(cause) = &error {
            error!(%cause, "failed to run a command");
        }
        Self(error.to_string())
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        error!(%error, "failed to run a command");
        Self(format!(
            "The database could not be used: {error}. Try again later."
        ))
    }
}
