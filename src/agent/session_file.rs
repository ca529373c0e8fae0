//! A saved session as a JSON file: one format written, the dialects of both seeds read.
//!
//! `docs/maintaining/ledger.md` lists the keys. What this program wrote is read back and written again byte for byte.

mod disk;
mod read;
mod write;

use std::path::PathBuf;

use chrono::{DateTime, Utc};

use crate::domain::{Item, SessionId, Trigger};

pub use disk::{MAX_BYTES, Written, create, load, remove_leftovers};
pub use read::parse;

/// Everything a session file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionFile {
    /// Its id; none in files whose id is no UUID.
    pub id: Option<SessionId>,
    /// Its file stem when it was written.
    pub session_id: String,
    /// The agent it was saved for, by name.
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

    /// The file's bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        write::bytes(self)
    }
}

/// Why a session file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// There is none.
    #[error("the session file `{name}` is missing: it was deleted or moved away")]
    Missing {
        /// Its name.
        name: String,
    },
    /// It is there and no session can be had from it.
    #[error("the session file `{name}` cannot be used: {reason}")]
    Unusable {
        /// Its name.
        name: String,
        /// What is wrong with it, and where.
        reason: String,
    },
    /// It could not be written; nothing of it is left.
    #[error("the session was not saved: {} cannot be written ({source})", path.display())]
    NotWritten {
        /// The file or folder in question.
        path: PathBuf,
        /// The system's own words.
        source: std::io::Error,
    },
}
