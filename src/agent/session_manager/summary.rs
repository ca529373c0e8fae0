//! A summary of a conversation, had from a model, or the words that stand for one.

use crate::agent::session_label;

/// What a session says of its conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Summary {
    Said(String),
    /// There was no summary to be had.
    Failed,
}

impl Summary {
    /// What a model said, as it is kept: one paragraph, bounded.
    pub fn of(said: &str) -> Self {
        session_label::summary(said).map_or(Self::Failed, Self::Said)
    }

    /// The words that are kept and shown.
    pub fn as_str(&self) -> &str {
        self.text().unwrap_or(session_label::SUMMARY_FAILED)
    }

    /// The model's words, if there are any.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Said(text) => Some(text),
            Self::Failed => None,
        }
    }
}
