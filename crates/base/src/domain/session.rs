//! A saved session: the contents of its row and of the head of its file.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::ids::{AgentId, SessionId};
use super::usage::Cost;

/// Everything about a saved session except its messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionMeta {
    /// Primary key, globally unique.
    pub id: SessionId,
    /// File stem, `YYYY-MM-DD_<slug>`, unique only within one agent.
    pub session_id: String,
    /// The agent it belongs to.
    pub agent_id: AgentId,
    /// That agent's name when it was saved.
    pub agent_name: String,
    /// Label: given by a person, or the summary's first sentence.
    pub description: String,
    /// Two to four sentences, or `(summary generation failed)`.
    pub summary: String,
    pub saved_at: DateTime<Utc>,
    pub trigger: SaveTrigger,
    /// Length of `messages`.
    pub message_count: u64,
    /// Characters / 4 over all messages.
    pub token_estimate: u64,
    /// Path of the file, relative to the agent's directory.
    pub file_path: String,
    /// SHA-256 of the file's bytes, lower-case hex.
    pub file_sha256: String,
    /// The use of its turns, if known: not for a file that came from elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<SessionUsage>,
    /// Whether it contains text that a role had to pass before people saw it; its label contains none of that text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hides_words: bool,
}

/// The use of the turns of a conversation, with their child turns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionUsage {
    /// Tokens of all requests, cached ones included.
    pub input: u64,
    pub output: u64,
    /// Input tokens that were read from the cache.
    pub cached: u64,
    pub cost: Cost,
}

/// The cause of a save.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SaveTrigger {
    ManualSave,
    IdleTimeout,
    /// The daemon shut down cleanly.
    Shutdown,
    /// `/context clear save_first:true`, or `restore` saving the conversation it replaces.
    ContextClear,
    /// A branch was killed, or its thread was deleted.
    BranchClosed,
    Destroy,
    /// The conversation was about to be compacted.
    Compaction,
    /// The daemon had ended without saving.
    CrashRecovery,
}

impl SaveTrigger {
    /// Every trigger.
    pub const ALL: [Self; 8] = [
        Self::ManualSave,
        Self::IdleTimeout,
        Self::Shutdown,
        Self::ContextClear,
        Self::BranchClosed,
        Self::Destroy,
        Self::Compaction,
        Self::CrashRecovery,
    ];

    /// Returns the word used in files and the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ManualSave => "manual_save",
            Self::IdleTimeout => "idle_timeout",
            Self::Shutdown => "shutdown",
            Self::ContextClear => "context_clear",
            Self::BranchClosed => "branch_closed",
            Self::Destroy => "destroy",
            Self::Compaction => "compaction",
            Self::CrashRecovery => "crash_recovery",
        }
    }
}
