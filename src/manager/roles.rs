//! `/roles`: what an agent can be and can call.

use std::sync::Arc;

use crate::agent::OwnRole;
use crate::charter::{Catalog, Role};
use crate::text::{self, escape};

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
    /// Finds out whether people may call a role of an agent.
    ///
    /// # Errors
    ///
    /// When they may not, with near names.
    pub async fn role_for_people(
        &self,
        agent: &AgentSummary,
        name: &str,
    ) -> Result<(), ManagerError> {
        let roles = self.roles_for_people(agent).await;
        let names = roles.iter().map(|role| role.name.as_str());
        is_one_of(names, name, "here that people can call")
    }

    /// Finds out whether an agent can be told to call `name`: a role of its own, or `@` and another agent.
    ///
    /// # Errors
    ///
    /// When there is none, with near names.
    pub(super) async fn callable(
        &self,
        agent: &AgentSummary,
        name: &str,
    ) -> Result<(), ManagerError> {
        if let Some(other) = name.strip_prefix('@') {
            return self.find(agent.guild, other).map(drop);
        }
        let roles = self.roles(agent).await?.catalog;
        let usable = roles.entries().iter().filter(|entry| entry.role.is_ok());
        is_one_of(usable.map(|entry| entry.name.as_str()), name, "here")
    }

    /// The roles of an agent that people may call.
    pub async fn roles_for_people(&self, agent: &AgentSummary) -> Vec<Arc<Role>> {
        let deps = &self.inner.deps;
        let folder = deps.paths.agent(agent.name.as_str());
        deps.roles_for_people(agent.id, folder).await
    }

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

fn is_one_of<'a>(
    roles: impl Iterator<Item = &'a str> + Clone,
    name: &str,
    which: &str,
) -> Result<(), ManagerError> {
    if roles.clone().any(|role| role == name) {
        return Ok(());
    }
    let near = text::near(name, roles);
    let near = near.map_or_else(String::new, |near| format!(" Did you mean `{near}`?"));
    Err(ManagerError::refused(format!(
        "There is no role {} {which}.{near} `/roles` lists them.",
        escape::code(&text::one_line(name, 80))
    )))
}
