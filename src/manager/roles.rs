//! `/roles`: what an agent can be and can call.

use std::sync::Arc;

use crate::agent::OwnRole;
use crate::charter::Catalog;

use super::AgentManager;
use super::error::ManagerError;
use super::registry::AgentSummary;

/// The roles of one agent.
#[derive(Clone, Debug)]
pub struct AgentRoles {
    /// Its own, which its `charter.md` describes.
    pub own: OwnRole,
    /// Those that it can take or call.
    pub catalog: Arc<Catalog>,
}

impl AgentManager {
    /// The roles of an agent, as the files are now.
    ///
    /// # Errors
    ///
    /// When reading them broke off.
    pub async fn roles(&self, agent: &AgentSummary) -> Result<AgentRoles, ManagerError> {
        let deps = &self.inner.deps;
        let folder = deps.paths.agent(agent.name.as_str());
        let failed = |error: tokio::task::JoinError| ManagerError::Failed(error.to_string());
        let catalog = deps.roles_of(agent.id, folder.clone());
        let catalog = catalog.await.map_err(failed)?;
        let (charters, id) = (deps.charters.clone(), agent.id);
        let named = catalog.clone();
        let own = deps.with_known(move |known| charters.look(id, &folder, known, || named));
        Ok(AgentRoles {
            own: own.await.map_err(failed)?,
            catalog,
        })
    }
}
