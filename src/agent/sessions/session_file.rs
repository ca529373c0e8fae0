//! A saved session as a JSON file: one format written, the dialects of both seeds read.
//!
//! `docs/maintaining/ledger.md` lists the keys. What this program wrote is read back and written again byte for byte.

mod disk;
mod form;
mod read;
mod write;

use chrono::{DateTime, Utc};

use crate::domain::{AgentId, Item, SaveTrigger, SessionId, SessionMeta};

pub use disk::{FileError, MAX_BYTES, Written, create, load, remove_leftovers};
pub use read::{InvalidMessage, InvalidSession, parse, tool_calls};

/// Everything a session file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionFile {
    /// `None` in files whose id is not a UUID.
    pub id: Option<SessionId>,
    /// Its file stem when it was written.
    pub session_id: String,
    /// The agent it was saved for; `None` in files that other programs, or older versions of this one, wrote.
    pub agent_id: Option<AgentId>,
    pub agent_name: String,
    pub description: String,
    pub summary: String,
    pub saved_at: DateTime<Utc>,
    pub trigger: SaveTrigger,
    pub items: Vec<Item>,
    /// Whether it holds words that passed a role before people got them.
    pub hides_words: bool,
}

impl SessionFile {
    /// What the index holds of it, except the file's path and hash.
    pub fn meta(&self, id: SessionId, agent: AgentId) -> SessionMeta {
        SessionMeta {
            id,
            session_id: self.session_id.clone(),
            agent_id: agent,
            agent_name: self.agent_name.clone(),
            description: self.description.clone(),
            summary: self.summary.clone(),
            saved_at: self.saved_at,
            trigger: self.trigger,
            message_count: self.items.len() as u64,
            token_estimate: self.token_estimate(),
            file_path: String::new(),
            file_sha256: String::new(),
            spent: None,
            hides_words: self.hides_words,
        }
    }

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
