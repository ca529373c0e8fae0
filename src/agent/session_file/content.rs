//! What a session file holds, whatever dialect it is written in.

use chrono::{DateTime, Utc};

use crate::domain::{AgentId, Item, SessionId, Trigger};

/// Everything a session file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionFile {
    /// Its id; none in files whose id is no UUID.
    pub id: Option<SessionId>,
    /// Its file stem when it was written.
    pub session_id: String,
    /// The agent it was saved for; none in files that other programs, or older versions of this one, wrote.
    pub agent_id: Option<AgentId>,
    /// That agent's name.
    pub agent_name: String,
    /// Label.
    pub description: String,
    /// Summary.
    pub summary: String,
    /// When it was saved.
    pub saved_at: DateTime<Utc>,
    /// What caused the save.
    pub trigger: Trigger,
    /// The conversation.
    pub items: Vec<Item>,
}

impl SessionFile {
    /// Characters of all messages divided by four.
    pub fn token_estimate(&self) -> u64 {
        let characters: usize = self
            .items
            .iter()
            .map(|item| item.text().chars().count())
            .sum();
        characters as u64 / 4
    }
}
