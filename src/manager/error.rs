//! Why the manager refused something or failed, in sentences for people.

use crate::agent::sessions::SessionError;
use crate::config::BadValue;
use crate::manager::ports::ChannelError;
use crate::permission::NotGranted;
use crate::store::StoreError;

/// The answer to anybody who uses the bot in a server that is not served.
pub const PRIVATE: &str = "This bot is private. Its operator has to accept this server first.";

/// The text is for the person who asked, and says what to do.
#[derive(Debug, thiserror::Error)]
pub enum ManagerError {
    /// A command was given in a channel that no agent lives in.
    #[error(
        "This channel is not bound to an agent. Use `/agent init` to make one, or go to an agent's channel."
    )]
    NoAgentHere,
    /// The server is not served.
    #[error("{PRIVATE}")]
    NotServed,
    /// No agent of the server has that name.
    #[error("There is no agent `{name}` in this server.{}", near.as_ref().map(|near| format!(" Did you mean `{near}`?")).unwrap_or_default())]
    NoSuchAgent {
        name: String,
        /// The nearest name there is.
        near: Option<String>,
    },
    /// It is not permitted or not possible as asked.
    #[error("{0}")]
    Refused(String),
    #[error(
        "The change could not be stored: {0}. Nothing was changed. Try again once the problem is fixed."
    )]
    Store(#[from] StoreError),
    /// Something else failed; the operator finds the cause in the log.
    #[error("That failed: {0}")]
    Failed(String),
}

impl From<SessionError> for ManagerError {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Store(error) => Self::Store(error),
            other => Self::Refused(other.to_string()),
        }
    }
}

impl From<NotGranted> for ManagerError {
    fn from(reason: NotGranted) -> Self {
        Self::Refused(reason.to_string())
    }
}

impl From<BadValue> for ManagerError {
    fn from(error: BadValue) -> Self {
        Self::Refused(error.to_string())
    }
}

impl From<ChannelError> for ManagerError {
    fn from(reason: ChannelError) -> Self {
        Self::Refused(reason.0)
    }
}

impl ManagerError {
    pub(crate) fn refused(reason: impl Into<String>) -> Self {
        Self::Refused(reason.into())
    }
}
