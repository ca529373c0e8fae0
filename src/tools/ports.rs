//! The interfaces of higher layers for tools. `daemon` connects each port to its implementation.

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
    /// The request itself is faulty; the model gets the reason.
    #[error("{0}")]
    Refused(String),
    /// The other side failed; the operator gets the reason.
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

/// Posts messages for people.
#[async_trait]
pub trait Messenger: Send + Sync {
    /// Posts a file in the channel or thread of the turn.
    ///
    /// # Errors
    ///
    /// Fails if the file is too large for the channel, or it cannot be posted.
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
    /// Returns the agents of the caller's server that everyone behind the turn may talk to, without the caller, by
    /// name.
    ///
    /// # Errors
    ///
    /// Fails if they cannot be read.
    async fn list(&self, caller: &Caller) -> Result<Vec<Peer>, PortError>;

    /// Posts `message` in the channel of `to`, with the sender named, and starts its turn there.
    ///
    /// The turn is one hop deeper than the caller's, and runs with the rights of `to`.
    ///
    /// # Errors
    ///
    /// Fails if there is no such agent in the server, if a person behind the turn may not talk to it, or if it accepts
    /// no messages now.
    async fn send(&self, caller: &Caller, to: &AgentName, message: String)
    -> Result<(), PortError>;

    /// Returns the agent called `name`, if everyone behind the turn may talk to it.
    ///
    /// # Errors
    ///
    /// Fails if it does not exist, or a person may not; the text is the same for both.
    async fn find(&self, caller: &Caller, name: &AgentName) -> Result<Colleague, PortError>;

    /// Opens a branch of the caller's agent, which reports to the caller's conversation. Returns its number.
    ///
    /// # Errors
    ///
    /// Fails if the agent is about to end, or the ledger fails.
    async fn open_branch(&self, caller: &Caller, task: BranchTask) -> Result<u32, PortError>;
}

/// Another agent of the server that can get work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Colleague {
    pub id: AgentId,
    pub name: AgentName,
    pub channel: ChannelId,
}

/// The task of a branch.
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
    /// Model it asks, if one is set.
    pub model: Option<String>,
    pub folder: PathBuf,
}

/// The available models.
#[async_trait]
pub trait Models: Send + Sync {
    /// Returns ids of all available models, sorted.
    ///
    /// # Errors
    ///
    /// Fails if no provider can be asked.
    async fn list(&self) -> Result<Vec<String>, PortError>;

    /// Returns the full id for `name`, which may be short: an exact id first, otherwise the only plausible match.
    ///
    /// # Errors
    ///
    /// Fails if there is no such model; similar names are suggested.
    async fn resolve(&self, name: &str) -> Result<String, PortError>;
}

/// A model that reads long texts for the caller, paid for by its turn. One for each call that needs it.
#[async_trait]
pub trait Reader: fmt::Debug + Send + Sync {
    /// Returns how many bytes of a text it can read at once.
    fn page(&self) -> usize;

    /// Returns its answer to `question` about one page of a text. `stop` ends it.
    ///
    /// # Errors
    ///
    /// Fails with the reason why there is no answer.
    async fn answer(
        &self,
        question: &str,
        page: &str,
        stop: &CancellationToken,
    ) -> Result<String, PortError>;
}

/// The next request of a turn, which will contain its results, while others spend the money for it.
#[async_trait]
pub trait NextRequest: fmt::Debug + Send + Sync {
    /// Returns whether the money is enough for it with one more result of this many estimated tokens. That result is
    /// then included.
    async fn pays_for(&self, tokens: u64) -> bool;
}

/// The configuration of agents, as far as tools may change it.
#[async_trait]
pub trait Configure: Send + Sync {
    /// Writes `value` under `key` of the caller's `agent.json`; used from its next model call on.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read or written.
    async fn set(&self, caller: &Caller, key: &'static Key, value: Value) -> Result<(), PortError>;

    /// Returns the available profiles, by name.
    fn profiles(&self) -> Arc<Profiles>;

    /// Returns whether the user may now use Manage Channels in the channel of the caller's agent. A program may not,
    /// and neither may a user who cannot be looked up.
    async fn manages_channels(&self, caller: &Caller, user: UserId) -> bool;

    /// Returns who may grant which profile in the caller's server now.
    ///
    /// # Errors
    ///
    /// Fails if the settings cannot be read.
    async fn grants(&self, guild: GuildId) -> Result<Grants, PortError>;
}

/// The rights to grant profiles in a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// Which role may grant which profiles.
    pub table: GrantTable,
    /// The server's default profile, which needs no grant.
    pub default_profile: String,
}

/// The decisions of each server's people.
#[async_trait]
pub trait ServerDecisions: Send + Sync {
    /// Adds a decision to those of the caller's server, under the name of the person who allowed the call; returns its
    /// number.
    ///
    /// # Errors
    ///
    /// Fails if it is empty or too long, or it cannot be written.
    async fn record(&self, caller: &Caller, text: String) -> Result<u32, PortError>;
}

/// Plans work for a certain time.
#[async_trait]
pub trait Planner: Send + Sync {
    /// Returns a plan for people before it is made: its time in words, the zone, and the next times. Markdown.
    ///
    /// # Errors
    ///
    /// Fails with the reason why it cannot be made.
    async fn preview(&self, caller: &Caller, plan: Plan) -> Result<String, PortError>;

    /// Makes a plan, which belongs to the person who began the turn. Returns the text for the model.
    ///
    /// # Errors
    ///
    /// Fails with the reason why it cannot be made.
    async fn plan(&self, caller: &Caller, plan: Plan) -> Result<String, PortError>;

    /// Deletes a plan of the caller's agent. Returns the text for the model.
    ///
    /// # Errors
    ///
    /// Fails if there is none of this name, or the people behind the turn may not delete it.
    async fn delete(&self, caller: &Caller, name: &str) -> Result<String, PortError>;

    /// Returns the plans of the caller's agent, for the model.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be read.
    async fn list(&self, caller: &Caller) -> Result<String, PortError>;
}

/// Work for a certain time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub kind: PlanKind,
    /// The time as the model wrote it.
    pub when: String,
    pub name: Option<String>,
    /// The agent's task, or the text of a reminder.
    pub prompt: String,
    /// A command that runs before the turn.
    pub gate: Option<String>,
    pub timezone: Option<String>,
}

/// The purpose of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanKind {
    /// The agent has a turn.
    Turn,
    /// The person is reminded.
    Reminder,
}

/// The rules for the commands of an agent.
pub trait ShellRules: Send + Sync {
    /// Returns the rules for the caller, by the current settings and configuration.
    fn of(&self, caller: &Caller) -> Rules;
}

/// Rules for commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    pub policy: Policy,
    /// Most time that one `bash` call may take.
    pub max_timeout: Duration,
    /// Resource limits of one command and its children.
    pub limits: Limits,
}
