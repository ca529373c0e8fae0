//! A summary of a conversation made by a model, or the words that replace a missing one.

use super::session_label;

/// What a session says about its conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Summary {
    Said(String),
    /// No summary could be made.
    Failed,
    /// None is made: words of the conversation passed a role before people got them.
    Withheld,
}

impl Summary {
    /// What a model said, as it is kept: one paragraph, bounded.
    pub fn of(said: &str) -> Self {
        session_label::summary(said).map_or(Self::Failed, Self::Said)
    }

    /// The model's words, if it made a summary.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Said(text) => Some(text),
            Self::Failed | Self::Withheld => None,
        }
    }
}
