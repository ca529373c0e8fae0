//! What tools need from higher layers. `daemon` connects each port to its implementation.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::caller::Caller;
use super::error::ToolError;
use crate::config::Key;
use crate::domain::{AgentId, AgentName, ChannelId, GuildId, UserId};
use crate::exec::{Limits, Policy};
use crate::permission::{GrantTable, Profiles};

/// Why a port refused or failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PortError {
    /// The request itself is at fault; the model is shown why.
    #[error("{0}")]
    Refused(String),
    /// The other side failed; the operator is told why.
    #[error("{0}")]
    Broken(String),
}

impl From<PortError> for ToolError {
    fn from(error: PortError) -> Self {
        match error {
            PortError::Refused(reason) => Self::Rejected(reason),
            PortError::Broken(reason) => Self::failed(reason),
        }
    }
}

/// Posts things for people to see.
#[async_trait]
pub trait Messenger: Send + Sync {
    /// Posts a file in the channel or thread of the turn.
    ///
    /// # Errors
    ///
    /// When the file is too large for the channel, or it cannot be posted.
    async fn post_file(&self, caller: &Caller, file: OutgoingFile) -> Result<(), PortError>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingFile {
    pub name: String,
    pub content: Vec<u8>,
    pub caption: Option<String>,
}

/// The other agents of a server.
#[async_trait]
pub trait AgentDirectory: Send + Sync {
    /// The agents of the caller's server that everyone behind the turn may talk to, without the caller, by name.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    async fn list(&self, caller: &Caller) -> Result<Vec<Peer>, PortError>;

    /// Posts `message` in the channel of `to`, with the sender named, and starts its turn there.
    ///
    /// The turn is one hop deeper than the caller's, and runs with the rights of `to`.
    ///
    /// # Errors
    ///
    /// When there is no such agent in the server, somebody behind the turn may not talk to it, or it takes no messages
    /// now.
    async fn send(&self, caller: &Caller, to: &AgentName, message: String)
    -> Result<(), PortError>;

    /// The agent called `name`, where everyone behind the turn may talk to it.
    ///
    /// # Errors
    ///
    /// When there is none, or somebody may not; the text is the same for both.
    async fn find(&self, caller: &Caller, name: &AgentName) -> Result<Colleague, PortError>;

    /// Opens a branch of the caller's agent, which reports to the caller's conversation. Returns its number.
    ///
    /// # Errors
    ///
    /// When the agent is about to end, or the ledger fails.
    async fn open_branch(&self, caller: &Caller, task: BranchTask) -> Result<u32, PortError>;
}

/// Another agent of the server that can be given work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Colleague {
    pub id: AgentId,
    pub name: AgentName,
    pub channel: ChannelId,
}

/// What a branch is opened for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchTask {
    /// The role that it works as.
    pub role: String,
    pub prompt: String,
}

/// Another agent of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    pub name: AgentName,
    /// Model it asks, when one is set.
    pub model: Option<String>,
    pub folder: PathBuf,
}

/// The models that can be asked.
#[async_trait]
pub trait Models: Send + Sync {
    /// Ids of all available models, sorted.
    ///
    /// # Errors
    ///
    /// When no provider can be asked.
    async fn list(&self) -> Result<Vec<String>, PortError>;

    /// The full id for `name`, which may be short: an exact id first, else the only plausible match.
    ///
    /// # Errors
    ///
    /// When there is no such model; similar names are offered.
    async fn resolve(&self, name: &str) -> Result<String, PortError>;
}

/// A model that reads long texts for the caller, paid for by its turn. One for each call that needs it.
#[async_trait]
pub trait Reader: fmt::Debug + Send + Sync {
    /// Bytes of a text that it can read at once.
    fn page(&self) -> usize;

    /// Its answer to `question` about one page of a text. `stop` ends it.
    ///
    /// # Errors
    ///
    /// Why there is no answer.
    async fn answer(
        &self,
        question: &str,
        page: &str,
        stop: &CancellationToken,
    ) -> Result<String, PortError>;
}

/// The request of a turn that is to hold its results, while others spend what it could be paid with.
#[async_trait]
pub trait NextRequest: fmt::Debug + Send + Sync {
    /// Whether it can be paid with one more result of so many tokens, as estimated. It is from then on.
    async fn pays_for(&self, tokens: u64) -> bool;
}

/// The configuration of agents, as tools may change it.
#[async_trait]
pub trait Configure: Send + Sync {
    /// Writes `value` under `key` of the caller's `agent.json`; used from its next model call on.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or written.
    async fn set(&self, caller: &Caller, key: &'static Key, value: Value) -> Result<(), PortError>;

    /// The available profiles, by name.
    fn profiles(&self) -> Arc<Profiles>;

    /// Whether the user may do now what needs the permission Manage Channels in the channel of the caller's agent. A program may
    /// not, nor somebody who cannot be looked up.
    async fn manages_channels(&self, caller: &Caller, user: UserId) -> bool;

    /// Who may grant which profile in the caller's server now.
    ///
    /// # Errors
    ///
    /// When the settings cannot be read.
    async fn grants(&self, guild: GuildId) -> Result<Grants, PortError>;
}

/// Who may grant what in a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// Which role may grant which profiles.
    pub table: GrantTable,
    /// The server's default profile, which needs no grant.
    pub default_profile: String,
}

/// What the people of each server decided.
#[async_trait]
pub trait ServerDecisions: Send + Sync {
    /// Adds a decision to those of the caller's server, under the name of whoever allowed the call; returns its number.
    ///
    /// # Errors
    ///
    /// When it is empty or too long, or it cannot be written.
    async fn record(&self, caller: &Caller, text: String) -> Result<u32, PortError>;
}

/// Plans work at a time.
#[async_trait]
pub trait Planner: Send + Sync {
    /// What people are shown of a plan before it is made: its time in words, the zone, and the next times. Markdown.
    ///
    /// # Errors
    ///
    /// Why it cannot be made.
    async fn preview(&self, caller: &Caller, plan: Plan) -> Result<String, PortError>;

    /// Makes a plan, which belongs to the person who began the turn. Returns what the model is told.
    ///
    /// # Errors
    ///
    /// Why it cannot be made.
    async fn plan(&self, caller: &Caller, plan: Plan) -> Result<String, PortError>;

    /// Deletes a plan of the caller's agent. Returns what the model is told.
    ///
    /// # Errors
    ///
    /// When there is none of this name, or the people behind the turn may not delete it.
    async fn delete(&self, caller: &Caller, name: &str) -> Result<String, PortError>;

    /// Returns what the caller's agent has planned, for the model.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    async fn list(&self, caller: &Caller) -> Result<String, PortError>;
}

/// Work at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub kind: PlanKind,
    /// The time as the model wrote it.
    pub when: String,
    pub name: Option<String>,
    /// What the agent is to do, or the text of a reminder.
    pub prompt: String,
    /// A command that runs before the turn.
    pub gate: Option<String>,
    pub timezone: Option<String>,
}

/// What a plan is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanKind {
    /// The agent has a turn.
    Turn,
    /// The person is reminded.
    Reminder,
}

/// The rules for the commands of an agent.
pub trait ShellRules: Send + Sync {
    /// The rules for the caller, by the present settings and configuration.
    fn of(&self, caller: &Caller) -> Rules;
}

/// Rules for commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    pub policy: Policy,
    /// Most time that one `bash` call may take.
    pub max_timeout: Duration,
    /// What one command and its children may use.
    pub limits: Limits,
}
