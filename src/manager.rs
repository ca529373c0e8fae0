//! All agents: which ones exist, which one a message is for, and what is done to them as a whole.
//!
//! ```text
//! discord ─▶ AgentManager ─┬▶ registry: channel → agent, in memory from the start
//!                          ├▶ an agent's actor, made at its first message
//!                          └▶ lifecycle: init, destroy, repair, config
//! ```
//!
//! The manager is a handle; clone it freely.

mod access;
mod always_allow;
mod audit;
mod branches;
mod configure;
mod contexts;
mod create;
mod create_folder;
mod decisions;
mod destroy;
mod error;
mod folder;
mod grant;
mod lost;
mod missing;
mod names;
mod new_agent;
mod origin;
mod own_charter;
mod ports;
pub mod recovery;
mod registry;
mod rename;
mod repair;
mod roles;
mod routing;
mod runs;
mod servers;
mod serving;
mod settings;
mod settle;
mod status;
mod tasks;
mod tool_ports;

use std::sync::Arc;

use tokio::sync::Semaphore;

use self::lost::UnknownFolders;
use self::names::{Gate, NameLocks, Renaming};
use self::registry::AgentRegistry;
use self::servers::Servers;
use crate::agent::{AgentDeps, Members};
use crate::store::StoreError;
use crate::workspace::template::Template;

pub use crate::agent::{Access, NoAccess, Stopped};
pub use branches::{BranchHistory, BranchTarget, BranchView, StepView};
pub use contexts::History;
pub use destroy::{Destroyed, Files, KeepFiles};
pub use error::{ManagerError, PRIVATE};
pub use missing::Lacks;
pub use new_agent::{Basis, Made, NewAgent, Refine};
pub use ports::{ChannelError, Channels, Renamed};
pub use registry::{AgentListing, AgentSummary};
pub use repair::{LostFolder, Repaired};
pub use roles::AgentRoles;
pub use routing::Received;
pub use servers::{Reason, SeenServer, Standing, leaves_at};
pub use status::{ContextFill, CoreState, Money, OwnCharter, SessionState, Status};
pub use tool_ports::ToolPorts;

/// All agents of the daemon.
#[derive(Clone)]
pub struct AgentManager {
    inner: Arc<Inner>,
}

impl std::fmt::Debug for AgentManager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentManager").finish_non_exhaustive()
    }
}

/// What all clones of the handle share.
struct Inner {
    deps: Arc<AgentDeps>,
    registry: AgentRegistry,
    /// Which servers are served.
    servers: Servers,
    template: Template,
    /// Held so that one agent is created, destroyed, renamed or repaired by one task at a time.
    names: NameLocks,
    /// Agents whose folder moves.
    gate: Gate,
    /// Agents whose channel is to be renamed later.
    renaming: Renaming,
    /// Folders of agents that the database does not know.
    unknown: UnknownFolders,
    /// Limits how many runs are drawn at once.
    looking: Semaphore,
}

impl AgentManager {
    /// Loads all registered agents; makes no actor yet.
    ///
    /// # Errors
    ///
    /// When the index of agents or the servers' settings cannot be read.
    pub async fn open(deps: Arc<AgentDeps>, template: Template) -> Result<Self, StoreError> {
        let rows = deps.store.agents().await?;
        let servers = Servers::open(deps.store.clone(), Arc::clone(&deps.config)).await?;
        let folder = deps.paths.agents();
        let leftovers = tokio::task::spawn_blocking(move || folder::leftovers(&folder));
        let leftovers = leftovers.await.unwrap_or_default();
        let manager = Self {
            inner: Arc::new(Inner {
                deps,
                registry: AgentRegistry::default(),
                servers,
                template,
                names: NameLocks::default(),
                gate: Gate::default(),
                renaming: Renaming::default(),
                unknown: UnknownFolders::default(),
                looking: Semaphore::new(runs::AT_ONCE),
            }),
        };
        let agents = manager.settle_locally(rows).await?;
        manager.look_for_unknown(&agents).await;
        manager.inner.registry.put_all(agents);
        // Only the end of the daemon waits for them.
        let tasks = manager.inner.registry.tasks();
        tasks.spawn_blocking(move || folder::sweep(&leftovers));
        manager.load_settings().await?;
        Ok(manager)
    }

    /// Connects the port through which members' roles are read.
    pub fn connect(&self, members: Arc<dyn Members>) {
        // A second connection of the same process brings the same port.
        let _ = self.inner.deps.members.set(members);
    }

    /// What agents share; for the composition root.
    pub fn deps(&self) -> &Arc<AgentDeps> {
        &self.inner.deps
    }
}
