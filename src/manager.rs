//! All agents: which ones exist, which one a message is for, and what is done to them as a whole.
//!
//! ```text
//! audit        commands that change something, in the audit log
//! directory    which agents exist, their files, roles and sessions; `/status`, `/agent list`, `/runs`
//! servers      which servers are served; access, grants, settings, decisions
//! routing      messages and commands to the agents' actors; branches, tasks
//! lifecycle    `/agent init`, `config`, `repair`, `destroy`
//! schedules    reminders and schedules: planned, and begun at their time
//! webhooks     webhooks: made by people, and what arrives at them
//! mcp          the MCP servers of agents, as people manage them
//! recovery     what a crash interrupted, and what agents have lost
//! ```
//!
//! A part holds the parts that it needs, which are above it in this list. None knows the manager.

mod audit;
mod directory;
mod error;
mod lifecycle;
mod mcp;
mod names;
mod overview;
mod planned_work;
mod ports;
pub mod recovery;
mod routing;
mod schedules;
mod servers;
mod timer;
mod tool_ports;
mod webhooks;

use std::sync::Arc;

use tokio::sync::Semaphore;

use self::audit::Audit;
use self::directory::Directory;
use self::directory::folder;
use self::directory::registry::AgentRegistry;
use self::directory::status::StatusReports;
use self::lifecycle::Lifecycle;
use self::lifecycle::bindings::Bindings;
use self::lifecycle::configurator::Configurator;
use self::lifecycle::creator::Creator;
use self::lifecycle::folders::AgentFolders;
use self::mcp::McpServers;
use self::names::{Gate, NameLocks, Renaming};
use self::recovery::{Cards, Recovery, UnknownFolders};
use self::routing::tasks::AgentTasks;
use self::routing::{Held, Routing};
use self::schedules::Schedules;
use self::servers::Servers;
use self::servers::access_control::AccessControl;
use self::servers::budgets::Budgets;
use self::servers::grants::GrantRules;
use self::servers::records::ServerRecords;
use self::servers::settings::ServerSettings;
use self::webhooks::Webhooks;
use crate::agent::{AgentDeps, Deliveries, Members, PlannedRuns};
use crate::store::StoreError;
use crate::workspace::template::Template;

pub use crate::agent::{Access, NoAccess, Stopped};
pub use directory::FileCount;
pub use directory::registry::{AgentListing, AgentSummary};
pub use directory::roles::AgentRoles;
pub use directory::sessions::History;
pub use directory::status::{
    BoundFolder, ContextFill, CoreState, Money, OwnCharter, SessionState, Status,
};
pub use error::{ManagerError, PRIVATE};
pub use lifecycle::destroy::{Destroyed, Files, KeepFiles};
pub use lifecycle::new_agent::{Basis, Made, NewAgent, Refine};
pub use lifecycle::repair::{LostFolder, Repaired};
pub use mcp::{Manages, ServerInFull, ServerView};
pub use overview::OverviewSource;
pub use ports::{ChannelError, Channels, Renamed, Threads};
pub use recovery::Lacks;
pub use routing::Received;
pub use routing::branches::{BranchHistory, BranchTarget, BranchView, StepView};
pub use schedules::{Draft, ScheduleChange, ScheduleEdit, ScheduleRequest, ScheduleView, Then};
pub use servers::budgets::{RaisedBudget, Share};
pub use servers::records::{Reason, SeenServer, Standing, leaves_at};
pub use tool_ports::ToolPorts;
pub use webhooks::{
    Incoming, IncomingAnswer, ListenerState, WebhookChange, WebhookRequest, WebhookView,
    WebhookWithSecret,
};

/// All agents of the daemon. Clones share everything.
#[derive(Clone)]
pub struct AgentManager {
    deps: Arc<AgentDeps>,
    pub(crate) directory: Arc<Directory>,
    pub(crate) status: Arc<StatusReports>,
    pub(crate) servers: Arc<Servers>,
    pub(crate) access: Arc<AccessControl>,
    pub(crate) budgets: Arc<Budgets>,
    pub(crate) settings: Arc<ServerSettings>,
    pub(crate) routing: Arc<Routing>,
    pub(crate) tasks: Arc<AgentTasks>,
    pub(crate) creator: Arc<Creator>,
    pub(crate) lifecycle: Arc<Lifecycle>,
    pub(crate) configurator: Arc<Configurator>,
    pub(crate) schedules: Arc<Schedules>,
    pub(crate) webhooks: Arc<Webhooks>,
    pub(crate) mcp: Arc<McpServers>,
    pub(crate) recovery: Arc<Recovery>,
}

impl std::fmt::Debug for AgentManager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentManager").finish_non_exhaustive()
    }
}

impl AgentManager {
    /// Loads all registered agents; makes no actor yet.
    ///
    /// # Errors
    ///
    /// When the index of agents or the servers' settings cannot be read.
    pub async fn open(deps: Arc<AgentDeps>, template: Template) -> Result<Self, StoreError> {
        let rows = deps.store.agents().await?;
        let records = ServerRecords::open(deps.store.clone(), Arc::clone(&deps.config)).await?;
        let agents_folder = deps.paths.agents();
        let leftovers = tokio::task::spawn_blocking(move || folder::leftovers(&agents_folder));
        let leftovers = leftovers.await.unwrap_or_default();
        let manager = Self::assemble(deps, records, template);
        let agents = manager.recovery.settle_locally(rows).await?;
        manager.recovery.look_for_unknown(&agents).await;
        let registry = &manager.directory.registry;
        registry.put_all(agents);
        // Only the end of the daemon waits for them.
        let tasks = registry.tasks();
        tasks.spawn_blocking(move || folder::sweep(&leftovers));
        manager.settings.load().await?;
        Ok(manager)
    }

    /// Makes the parts, each with those that it needs.
    fn assemble(deps: Arc<AgentDeps>, records: ServerRecords, template: Template) -> Self {
        let names = Arc::new(NameLocks::default());
        let gate = Arc::new(Gate::default());
        let audit = Arc::new(Audit {
            deps: Arc::clone(&deps),
        });
        let directory = Arc::new(Directory {
            deps: Arc::clone(&deps),
            registry: AgentRegistry::default(),
        });
        let servers = Arc::new(Servers {
            deps: Arc::clone(&deps),
            audit: Arc::clone(&audit),
            records,
        });
        let access = Arc::new(AccessControl {
            deps: Arc::clone(&deps),
            directory: Arc::clone(&directory),
        });
        let budgets = Arc::new(Budgets {
            deps: Arc::clone(&deps),
            directory: Arc::clone(&directory),
            audit: Arc::clone(&audit),
        });
        let grants = Arc::new(GrantRules {
            deps: Arc::clone(&deps),
        });
        let settings = Arc::new(ServerSettings {
            deps: Arc::clone(&deps),
            directory: Arc::clone(&directory),
            grants: Arc::clone(&grants),
            audit: Arc::clone(&audit),
        });
        let status = Arc::new(StatusReports {
            deps: Arc::clone(&deps),
            directory: Arc::clone(&directory),
            settings: Arc::clone(&settings),
            access: Arc::clone(&access),
            drawing: Semaphore::new(directory::runs::AT_ONCE),
        });
        let tasks = Arc::new(AgentTasks {
            deps: Arc::clone(&deps),
        });
        let routing = Arc::new(Routing {
            deps: Arc::clone(&deps),
            directory: Arc::clone(&directory),
            servers: Arc::clone(&servers),
            access: Arc::clone(&access),
            tasks: Arc::clone(&tasks),
            audit: Arc::clone(&audit),
            gate: Arc::clone(&gate),
            held: Held::default(),
        });
        let schedules = Arc::new(Schedules::new(
            Arc::clone(&deps),
            Arc::clone(&directory),
            Arc::clone(&servers),
            Arc::clone(&audit),
            Arc::clone(&routing),
        ));
        let webhooks = Arc::new(Webhooks::new(
            Arc::clone(&deps),
            (Arc::clone(&directory), Arc::clone(&servers)),
            (Arc::clone(&audit), Arc::clone(&grants)),
            Arc::clone(&routing),
        ));
        let mcp = Arc::new(McpServers {
            deps: Arc::clone(&deps),
            directory: Arc::clone(&directory),
            audit: Arc::clone(&audit),
            grants: Arc::clone(&grants),
        });
        let folders = Arc::new(AgentFolders {
            deps: Arc::clone(&deps),
            directory: Arc::clone(&directory),
            grants: Arc::clone(&grants),
            template,
            bindings: Arc::new(Bindings::new(Arc::clone(&deps), Arc::clone(&directory))),
        });
        let bindings = Arc::clone(&folders.bindings);
        let creator = Arc::new(Creator {
            deps: Arc::clone(&deps),
            directory: Arc::clone(&directory),
            audit: Arc::clone(&audit),
            grants: Arc::clone(&grants),
            settings: Arc::clone(&settings),
            folders: Arc::clone(&folders),
            names: Arc::clone(&names),
            bindings: Arc::clone(&bindings),
        });
        let lifecycle = Arc::new(Lifecycle {
            deps: Arc::clone(&deps),
            directory: Arc::clone(&directory),
            audit: Arc::clone(&audit),
            settings: Arc::clone(&settings),
            routing: Arc::clone(&routing),
            tasks: Arc::clone(&tasks),
            folders,
            names: Arc::clone(&names),
            gate,
            renaming: Renaming::default(),
        });
        let configurator = Arc::new(Configurator {
            deps: Arc::clone(&deps),
            directory: Arc::clone(&directory),
            audit,
            grants,
            settings: Arc::clone(&settings),
            routing: Arc::clone(&routing),
            lifecycle: Arc::clone(&lifecycle),
            names: Arc::clone(&names),
            bindings: Arc::clone(&bindings),
        });
        let recovery = Arc::new(Recovery {
            deps: Arc::clone(&deps),
            directory: Arc::clone(&directory),
            servers: Arc::clone(&servers),
            settings: Arc::clone(&settings),
            creator: Arc::clone(&creator),
            lifecycle: Arc::clone(&lifecycle),
            tasks: Arc::clone(&tasks),
            routing: Arc::clone(&routing),
            access: Arc::clone(&access),
            names,
            unknown: UnknownFolders::default(),
            cards: Cards::default(),
        });
        Self {
            deps,
            directory,
            status,
            servers,
            access,
            budgets,
            settings,
            routing,
            tasks,
            creator,
            lifecycle,
            configurator,
            schedules,
            webhooks,
            mcp,
            recovery,
        }
    }

    /// Returns the runs of schedules that are with their agents, with the figures of all runs.
    pub(crate) fn planned_runs(&self) -> PlannedRuns {
        self.deps.planned.clone()
    }

    /// Returns the deliveries of webhooks that are with their agents, with the figures of all.
    pub(crate) fn deliveries(&self) -> Deliveries {
        self.deps.deliveries.clone()
    }

    /// Connects the port through which members' roles are read.
    pub fn connect(&self, members: Arc<dyn Members>) {
        // A second connection of the same process brings the same port.
        let _ = self.deps.members.set(members);
    }

    /// Returns what agents share; for the composition root.
    pub fn deps(&self) -> &Arc<AgentDeps> {
        &self.deps
    }
}
