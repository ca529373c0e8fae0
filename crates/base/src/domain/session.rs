//! A saved session: what its row and the head of its file hold.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::ids::{AgentId, SessionId};
use super::usage::Cost;

/// Everything about a saved session except its messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionMeta {
    /// Primary key, known all over.
    pub id: SessionId,
    /// File stem, `YYYY-MM-DD_<slug>`, unique within one agent only.
    pub session_id: String,
    /// The agent it belongs to.
    pub agent_id: AgentId,
    /// That agent's name when it was saved.
    pub agent_name: String,
    /// Label: what a person gave, else the summary's first sentence.
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
    /// What its turns used, where that is known: not for a file that came from elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<SessionUsage>,
    /// Whether it holds words that passed a role before people got them; its label has none of these.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hides_words: bool,
}

/// What the turns of a conversation used, with their child turns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionUsage {
    /// Tokens of all requests, those from the cache too.
    pub input: u64,
    pub output: u64,
    /// Those of the input that were read from the cache.
    pub cached: u64,
    pub cost: Cost,
}

/// What caused a save.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SaveTrigger {
    ManualSave,
    IdleTimeout,
    /// The daemon stopped in order.
    Shutdown,
    /// `/context clear save_first:true`, or `restore` saving what it replaces.
    ContextClear,
    /// A branch was killed, or the thread that it lived in was deleted.
    BranchClosed,
    Destroy,
    /// The conversation was about to be compacted.
    Compaction,
    /// The daemon had ended without saving.
    CrashRecovery,
}

impl SaveTrigger {
    /// Every trigger there is.
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

    /// The word that files and the database hold.
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
