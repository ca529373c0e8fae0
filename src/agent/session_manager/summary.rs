//! A summary of a conversation, had from a model, or the words that stand for one.

use std::time::Duration;

use async_trait::async_trait;
use tracing::warn;

use crate::agent::session_label::{SUMMARY_FAILED, summary};
use crate::domain::Item;

/// Whoever can summarise a conversation: the agent's own model.
#[async_trait]
pub trait Summarise: Send + Sync {
    /// Two to four sentences: done, decided, files changed, unfinished.
    ///
    /// # Errors
    ///
    /// Why there is none, in words for the log.
    async fn summarise(&self, items: &[Item]) -> Result<String, String>;
}

/// What a session says of its conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Summary {
    /// The model's words.
    Said(String),
    /// There was no summary to be had.
    Failed,
}

impl Summary {
    /// The words that are kept and shown.
    pub fn as_str(&self) -> &str {
        self.text().unwrap_or(SUMMARY_FAILED)
    }

    /// The model's words, if there are any.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Said(text) => Some(text),
            Self::Failed => None,
        }
    }
}

/// Asks once, for at most `patience`.
pub(super) async fn get(items: &[Item], summariser: &dyn Summarise, patience: Duration) -> Summary {
    if items.is_empty() {
        return Summary::Failed;
    }
    let reason = match tokio::time::timeout(patience, summariser.summarise(items)).await {
        Ok(Ok(said)) => match summary(&said) {
            Some(text) => return Summary::Said(text),
            None => "the model said nothing".to_owned(),
        },
        Ok(Err(reason)) => reason,
        Err(_) => format!("no answer within {} s", patience.as_secs()),
    };
    warn!("no summary: {reason}");
    Summary::Failed
}
