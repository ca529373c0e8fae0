//! Which roles may talk to an agent, as its file says now.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use crate::config::effective;
use crate::domain::{AgentId, RoleId};
use crate::manager::{AgentManager, AgentSummary};
use crate::workspace::{Workspace, agent_file};

/// What agents' files said when they were last looked at; asked for with every message, and read when they change.
#[derive(Debug, Default)]
pub(super) struct AccessRoles(Mutex<HashMap<AgentId, LastSeen>>);

/// A file's look, and the roles it named then.
type LastSeen = (Stamp, Option<Vec<RoleId>>);

/// What changes when a file does.
type Stamp = (Option<SystemTime>, u64);

impl AccessRoles {
    /// The agent's own roles, else the server's; none means everyone.
    pub(super) fn of(&self, manager: &AgentManager, agent: &AgentSummary) -> Vec<RoleId> {
        let own = self.own(manager, agent);
        own.unwrap_or_else(|| {
            let parts = manager.parts();
            effective::server(&parts.settings_of(agent.guild), &parts.config.load()).access_roles
        })
    }

    fn own(&self, manager: &AgentManager, agent: &AgentSummary) -> Option<Vec<RoleId>> {
        let folder = manager.parts().paths.agent(agent.name.as_str());
        let stamp = match std::fs::metadata(folder.join("agent.json")) {
            Ok(file) => (file.modified().ok(), file.len()),
            Err(_) => (None, 0),
        };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((then, roles)) = known.get(&agent.id)
            && *then == stamp
        {
            return roles.clone();
        }
        let file = Workspace::open(&folder)
            .ok()
            .and_then(|workspace| agent_file::read(workspace.agent()).ok());
        let Some(file) = file else {
            // A broken file changes nothing: the last good one stays in force.
            return known.get(&agent.id).and_then(|(_, roles)| roles.clone());
        };
        let roles = file.config.access_roles;
        known.insert(agent.id, (stamp, roles.clone()));
        roles
    }
}
