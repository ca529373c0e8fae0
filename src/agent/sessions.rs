//! Saves conversations as sessions and reads them back: a JSON file each, and its row in the index.
//!
//! The file is written first, whole, then the row; a file without a row (a crash between, a folder copied from
//! elsewhere) is indexed when sessions are next listed or restored. File work runs off the async threads.

mod import;
mod index;
pub mod session_file;
pub mod session_label;
mod session_manager;
mod summary;

use std::sync::Arc;
use std::time::Duration;

use self::session_file::FileError;
use crate::domain::{ConversationId, Item, SaveTrigger, SessionId, SessionMeta};
use crate::store::StoreError;

pub use session_manager::SessionManager;
pub use summary::Summary;

/// Folder of an agent's sessions, within the agent's own.
pub const SESSIONS: &str = "sessions";

/// How long a summary may take; one try.
pub const SUMMARY_TIMEOUT: Duration = Duration::from_secs(30);

/// Fewest characters of an id that name a session.
const SHORTEST_PREFIX: usize = 4;

/// Sessions named in the answer to an ambiguous prefix.
const NAMED: u32 = 5;

/// What to save, and how.
#[derive(Clone, Debug)]
pub struct Save {
    /// The id the session gets.
    pub id: SessionId,
    /// The conversation, whose row notes what is saved of it.
    pub conversation: Option<ConversationId>,
    /// Its items, whole exchanges only.
    pub items: Arc<Vec<Item>>,
    /// The label a person gave.
    pub description: Option<String>,
    pub trigger: SaveTrigger,
    /// What it says about itself.
    pub summary: Summary,
    /// Whether words in it passed a role before people got them. Its label has none of a model's words then.
    pub hides_words: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Restored {
    pub meta: SessionMeta,
    /// Its conversation, valid for every provider.
    pub items: Vec<Item>,
    /// What had to be repaired, a phrase each, for people.
    pub repaired: Vec<String>,
    /// Whether the file is still the one that was saved.
    pub file: FileState,
}

/// The state of a session's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileState {
    Kept,
    /// It is there, and somebody has changed it.
    Changed,
    Deleted,
}

/// A page of an agent's sessions.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionList {
    pub total: u64,
    /// The page, newest first.
    pub sessions: Vec<(SessionMeta, FileState)>,
    /// Files in the folder that are not sessions of this agent, with the reason for each.
    pub unreadable: Vec<String>,
    /// Those among them that are another agent's, by their stems.
    pub foreign: Vec<String>,
}

/// Another agent's session that became one of this agent's.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    pub meta: SessionMeta,
    pub from: String,
}

/// Why a session was not saved, found or restored.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// There is nothing to save.
    #[error("there is nothing to save: the context is empty")]
    Empty,
    /// This agent has no such session.
    #[error("no session of {agent} is called `{word}`; `/context history` lists them")]
    Unknown { agent: String, word: String },
    /// Too little of an id to go by.
    #[error("`{word}` is too short: give at least {SHORTEST_PREFIX} characters of the id")]
    TooShort { word: String },
    /// Several sessions begin so.
    #[error("`{word}` could be several sessions: {}. Give more of the id", found.join(", "))]
    Ambiguous {
        word: String,
        /// Some of those it could be.
        found: Vec<String>,
    },
    /// The file is another agent's.
    #[error(
        "the session file `{stem}.json` belongs to agent `{owner}`. `/context import session_id:{stem}` makes it a session of `{agent}`"
    )]
    Foreign {
        /// The agent that has it in its folder.
        agent: String,
        /// The agent that it was saved for.
        owner: String,
        stem: String,
    },
    /// There is no need to import it.
    #[error(
        "`{stem}.json` is a session of `{agent}` already; `/context restore session_id:{stem}` brings it back"
    )]
    Own { agent: String, stem: String },
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The index cannot be read or written.
    #[error("the session's index failed: {0}")]
    Store(#[from] StoreError),
    /// It cannot be done now, for this reason.
    #[error("{0}")]
    Refused(String),
    /// The daemon is stopping.
    #[error("the daemon is stopping")]
    Stopping,
}

/// Runs `work` on a thread that may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, SessionError> {
    // A panic there or a runtime that shuts down: either way there is no answer.
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| SessionError::Stopping)
}
