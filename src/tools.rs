//! What a model can do: tools, each one file under `builtin/`, and what wraps them all.
//!
//! `registry` knows them by name and checks arguments; `guard` runs one call with its deadline, output cap and span.
//! Permission is judged before, by whoever holds the profile; a tool only says which action it would be.
//! What tools need from the rooms above is asked through the small traits in `ports`.

mod arguments;
pub mod builtin;
mod change;
mod erased;
mod files;
mod git;
pub mod guard;
pub mod hooks;
mod lines;
pub mod output_store;
mod peers;
pub mod ports;
mod rate_limit;
pub mod registry;
mod replace;
mod run_task;
mod schema;
mod services;
mod shell;
pub mod tasks;
mod web;
mod write_file;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use crate::domain::{
    AgentConfig, AgentId, AgentName, CallId, ChannelId, ConversationId, GuildId, Image, Person,
    TurnId,
};
use crate::permission::{Action, Group};

pub use change::Change;
pub use erased::{Prepared, ToolInfo};
pub use git::{ForgeAccess, GitAccess, HostAccess};
pub use peers::first_prose;
pub use rate_limit::RateLimit;
pub use registry::Registry;
pub use services::{Services, http_client};
pub use shell::Shell;
pub use web::{Web, is_public};

/// One tool. Its arguments are a type, and the JSON Schema that the model sees is derived from it.
#[async_trait]
pub trait Tool: Send + Sync + 'static {
    /// Its arguments. Doc comments of the fields are what the model reads.
    type Args: DeserializeOwned + Serialize + JsonSchema + Send + Sync + 'static;

    /// Name to call it by.
    const NAME: &'static str;
    /// What it does, for the model: a sentence or two.
    const DESCRIPTION: &'static str;
    /// Which group of the built-in profiles it belongs to.
    const GROUP: Group;
    /// What follows `tool:` in all its actions, such as `git:push`, for [`crate::permission::Profile::denies_all`].
    const SUBJECT: &'static str = Self::NAME;
    /// Whether it goes by the roles that the turn's people hold now ([`ToolContext::people`]), which Discord is asked for.
    const BY_PEOPLE: bool = false;

    /// The action this call would be, from validated arguments.
    fn action(args: &Self::Args) -> Action;

    /// The workspace path it would write, for calls that may not run side by side.
    fn writes(_args: &Self::Args) -> Option<String> {
        None
    }

    /// What the call would change in the agent's own configuration, for the audit row.
    ///
    /// Asked before the call runs, for the row is written when the call is decided.
    async fn change(&self, _args: &Self::Args, _context: &ToolContext) -> Option<Change> {
        None
    }

    /// How long it may run before the guard ends it.
    ///
    /// None where it keeps its own time: then it also watches `context.stop` itself.
    fn deadline(_args: &Self::Args) -> Option<Duration> {
        Some(Duration::from_secs(60))
    }

    /// Runs the call. Dropping the future must leave nothing running.
    ///
    /// # Errors
    ///
    /// See [`ToolError`].
    async fn run(&self, args: Self::Args, context: &ToolContext) -> Result<Output, ToolError>;
}

impl ToolError {
    /// The call is refused for a reason the model can act on.
    pub fn rejected(reason: impl Into<String>) -> Self {
        Self::Rejected(reason.into())
    }

    /// The call failed for a reason of ours.
    pub fn failed(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Failed(cause.into())
    }
}

/// What a tool gave: text for the model, and pictures where it can see.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// Text for the model.
    pub text: String,
    /// Pictures.
    pub images: Vec<Image>,
}

impl From<String> for Output {
    fn from(text: String) -> Self {
        Self {
            text,
            images: Vec::new(),
        }
    }
}

/// Why a tool call gave no result.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The model can correct this; it is shown the text, which says what was wrong and what to try.
    #[error("{0}")]
    Rejected(String),
    /// We cannot serve the call; the operator is told why, the model that it could not run.
    #[error("the tool could not run: {0}")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Who calls a tool, from where, with what. One per call.
#[derive(Clone)]
pub struct ToolContext {
    /// The agent.
    pub agent: AgentId,
    /// Its name.
    pub name: AgentName,
    /// Its server.
    pub guild: GuildId,
    /// Where the turn is seen: the agent's channel or a branch's thread.
    pub channel: ChannelId,
    /// The conversation it belongs to.
    pub conversation: ConversationId,
    /// The turn it belongs to.
    pub turn: TurnId,
    /// The call itself.
    pub call: CallId,
    /// The agent's configuration as this step read it.
    pub config: Arc<AgentConfig>,
    /// Everyone whose messages entered the turn, with the roles they hold now; empty when no person started it, and for
    /// a tool that does not go by them ([`Tool::BY_PEOPLE`]).
    pub people: Vec<Person>,
    /// How many hops of hooks or other agents led here; a person's turn is 0.
    pub depth: u8,
    /// Ends with the turn: `/stop` lets a call finish, `/abort` and shutdown cancel this.
    pub stop: CancellationToken,
    /// The parts of the daemon that tools use.
    pub services: Arc<Services>,
}
