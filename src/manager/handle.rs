//! The handle to all agents.

use std::sync::Arc;

use super::folder;
use super::known_access::KnownAccess;
use super::lost::UnknownFolders;
use super::names::{Gate, NameLocks, Renaming};
use super::registry::AgentRegistry;
use super::servers::Servers;
use crate::agent::{AgentDeps, Members};
use crate::store::StoreError;
use crate::workspace::template::Template;

/// All agents of the daemon.
#[derive(Clone)]
pub struct AgentManager {
    pub(super) inner: Arc<Inner>,
}

impl std::fmt::Debug for AgentManager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentManager").finish_non_exhaustive()
    }
}

/// What all clones of the handle share.
pub(super) struct Inner {
    pub(super) deps: Arc<AgentDeps>,
    pub(super) registry: AgentRegistry,
    /// Which servers are served.
    pub(super) servers: Servers,
    pub(super) template: Template,
    pub(super) access: KnownAccess,
    /// One creation, destruction, rename or repair of an agent at a time.
    pub(super) names: NameLocks,
    /// Agents whose folder moves.
    pub(super) gate: Gate,
    /// Agents whose channel is to be renamed later.
    pub(super) renaming: Renaming,
    /// Folders of agents that the database does not know.
    pub(super) unknown: UnknownFolders,
}

impl AgentManager {
    /// Knows all registered agents; makes no actor yet.
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
                access: KnownAccess::default(),
                names: NameLocks::default(),
                gate: Gate::default(),
                renaming: Renaming::default(),
                unknown: UnknownFolders::default(),
            }),
        };
        let agents = manager.settle_here(rows).await?;
        manager.look_for_unknown(&agents).await;
        manager.inner.registry.put_all(agents);
        // Nobody waits for them to be gone.
        tokio::task::spawn_blocking(move || folder::sweep(&leftovers));
        manager.load_settings().await?;
        Ok(manager)
    }

    /// Joins the port through which members' roles are read.
    pub fn connect(&self, members: Arc<dyn Members>) {
        // A second connection of the same process brings the same port.
        let _ = self.inner.deps.members.set(members);
    }

    /// What agents share; for the composition root.
    pub fn deps(&self) -> &Arc<AgentDeps> {
        &self.inner.deps
    }
}
