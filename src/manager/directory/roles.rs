//! `/roles`: the roles of an agent, its own and those it can call.

use std::sync::Arc;

use serde_json::Value;

use crate::agent::OwnRole;
use crate::charter::{Catalog, NoGate, Role};
use crate::manager::directory::Directory;
use crate::manager::directory::registry::AgentSummary;
use crate::manager::error::ManagerError;
use crate::text::{self, escape};

/// The roles of one agent.
#[derive(Clone, Debug)]
pub struct AgentRoles {
    /// Its own role, which its `charter.md` describes.
    pub own: OwnRole,
    /// The roles that it can take or call.
    pub catalog: Arc<Catalog>,
}

impl Directory {
    /// Checks that people may call a role of an agent.
    ///
    /// # Errors
    ///
    /// When they may not, with similar names.
    pub(crate) async fn role_for_people(
        &self,
        agent: &AgentSummary,
        name: &str,
    ) -> Result<(), ManagerError> {
        let roles = self.roles_for_people(agent).await;
        let names = roles.iter().map(|role| role.name.as_str());
        is_one_of(names, name, "here that people can call")
    }

    /// Checks that an agent can be told to call `name`: a role of its own, or `@` and another agent.
    ///
    /// # Errors
    ///
    /// When there is none, with similar names.
    pub(crate) async fn callable(
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

    /// Checks that turns of an agent can pass through the roles that `value` names: a list of names or of handoffs, or a
    /// router.
    ///
    /// # Errors
    ///
    /// Why they cannot pass through one of them.
    pub(crate) async fn can_pass_through(
        &self,
        agent: &AgentSummary,
        value: &Value,
    ) -> Result<(), ManagerError> {
        let list = value.get("destinations").unwrap_or(value);
        let named = list.as_array().into_iter().flatten();
        let names = named.filter_map(|one| one.as_str().or_else(|| one.get("role")?.as_str()));
        let roles = self.roles(agent).await?.catalog;
        for name in names {
            if let Err(why) = roles.gate(name) {
                let usable = roles
                    .entries()
                    .iter()
                    .filter(|entry| roles.gate(&entry.name).is_ok());
                let near = text::near(name, usable.map(|entry| entry.name.as_str()));
                let near = near.map_or_else(String::new, |near| format!(" Did you mean `{near}`?"));
                let why = match why {
                    NoGate::Unknown(name) => format!("There is no role {}", escape::code(&name)),
                    NoGate::OfRepository(_) | NoGate::Broken(_) => why.to_string(),
                };
                return Err(ManagerError::refused(format!(
                    "{}{near} `/roles` lists them.",
                    text::sentence(&why)
                )));
            }
        }
        Ok(())
    }

    /// The roles of an agent that people may call.
    pub(crate) async fn roles_for_people(&self, agent: &AgentSummary) -> Vec<Arc<Role>> {
        let deps = &self.deps;
        let folder = deps.paths.agent(agent.name.as_str());
        deps.roles_for_people(agent.id, folder).await
    }

    /// The roles of an agent, as the files are now.
    ///
    /// # Errors
    ///
    /// When reading them panicked.
    pub(crate) async fn roles(&self, agent: &AgentSummary) -> Result<AgentRoles, ManagerError> {
        let deps = &self.deps;
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
