//! A summary of a conversation made by a model, or the words that replace a missing one.

use super::session_label;

/// What a session says about its conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Summary {
    Said(String),
    /// No summary could be made.
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

    /// The model's words, if it made a summary.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Said(text) => Some(text),
            Self::Failed => None,
        }
    }
}
