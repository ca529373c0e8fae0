//! The parts of the daemon that tools use, put together by `daemon`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::caller::Caller;
use super::error::ToolError;
use super::git_access::GitAccess;
use super::hooks::HookWriter;
use super::output_store::OutputStore;
use super::ports::{
    AgentDirectory, Configure, Messenger, Models, Planner, ServerDecisions, ShellRules,
};
use super::rate_limit::RateLimit;
use super::tasks::Tasks;
use super::told_once::ToldOnce;
use super::web::Web;
use crate::exec::{Probing, Workers};
use crate::mcp::Hub;
use crate::text::redact::Redactor;
use crate::workspace::docs::DocsCache;
use crate::workspace::locks::PathLocks;

/// One for the daemon's lifetime.
pub struct Services {
    /// The folder of all agents.
    pub agents: PathBuf,
    /// One writer at a time for each path.
    pub locks: PathLocks,
    /// Keeps outputs that are too long for a model.
    pub outputs: OutputStore,
    /// Keeps secrets out of results.
    pub redactor: Redactor,
    pub docs: DocsCache,
    /// The instructions below a workspace that each conversation has already seen.
    pub instructions: ToldOnce,
    /// How often each agent writes to others.
    pub sends: RateLimit,
    /// How often each agent opens branches.
    pub branches: RateLimit,
    /// The git hosts and forges for agents.
    pub git: GitAccess,
    /// For calls to the operator's hosts; follows no redirect: see [`http_client`].
    pub http: reqwest::Client,
    /// Process untrusted text.
    pub workers: Workers,
    pub web: Web,
    /// Posts messages for people.
    pub messenger: Arc<dyn Messenger>,
    pub directory: Arc<dyn AgentDirectory>,
    /// The available models.
    pub models: Arc<dyn Models>,
    pub configure: Arc<dyn Configure>,
    pub decisions: Arc<dyn ServerDecisions>,
    /// The MCP servers of all agents; `None` if there are none.
    pub mcp: Option<Arc<Hub>>,
    /// Plans reminders and turns for a certain time.
    pub planner: Arc<dyn Planner>,
    /// Runs commands, or has the reason why none can run.
    pub shell: Result<Shell, NoCommands>,
}

impl std::fmt::Debug for Services {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Services")
            .field("agents", &self.agents)
            .finish_non_exhaustive()
    }
}

/// Why commands cannot run.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("{0}")]
pub struct NoCommands(pub &'static str);

/// Runs commands. One for the daemon's lifetime.
#[derive(Clone)]
pub struct Shell {
    /// The sandbox of this machine.
    pub sandbox: Probing,
    /// The rules for the commands of an agent.
    pub rules: Arc<dyn ShellRules>,
    /// Commands that continue beside the turn.
    pub tasks: Tasks,
    /// Turns plain language into hooks.
    pub hook_writer: Arc<dyn HookWriter>,
}

impl std::fmt::Debug for Shell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shell")
            .field("sandbox", &self.sandbox)
            .field("tasks", &self.tasks)
            .finish_non_exhaustive()
    }
}

impl Services {
    /// Returns the folder of the calling agent.
    pub fn folder(&self, caller: &Caller) -> PathBuf {
        self.agents.join(caller.name.as_str())
    }

    /// Returns the part that runs commands.
    ///
    /// # Errors
    ///
    /// Fails with the reason if there is none.
    pub fn shell(&self) -> Result<&Shell, ToolError> {
        self.shell
            .as_ref()
            .map_err(|why| ToolError::Rejected(format!("no command runs here: {why}")))
    }
}

/// Returns the client for calls with the operator's credentials: it follows no redirect, so they are sent nowhere else.
pub fn http_client() -> reqwest::Result<reqwest::Client> {
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(Duration::from_secs(15))
        .read_timeout(Duration::from_secs(60))
        .user_agent(concat!("chorus/", env!("CARGO_PKG_VERSION")))
        .build()
}
