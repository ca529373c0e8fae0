//! Who may talk to an agent: by the roles that its file names now, and to one through another, by what they see.

use crate::agent::Configuration;
use crate::domain::{GuildId, Participant, Person, RoleId};
use crate::permission::{all_known, may_talk};
use crate::workspace::{Workspace, agent_file};

use super::handle::AgentManager;
use super::registry::AgentSummary;

/// Who may talk to an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Members of these roles; none named means everyone who sees its channel.
    Roles(Vec<RoleId>),
    /// Administrators alone: its `agent.json` cannot be read and was not read since the start, so nobody knows whom it
    /// names. Holds file, place and reason.
    Unreadable(String),
}

impl Access {
    /// Whether `person` may talk to the agent.
    pub fn admits(&self, person: &Person) -> bool {
        match self {
            Self::Roles(roles) => may_talk(person, roles),
            Self::Unreadable(_) => person.is_administrator,
        }
    }
}

impl AgentManager {
    /// Who may talk to an agent: the roles of its own file, else the server's.
    pub fn access(&self, agent: &AgentSummary) -> Access {
        match self.own_roles(agent) {
            Ok(Some(roles)) => Access::Roles(roles),
            Ok(None) => Access::Roles(self.server(agent.guild).access_roles),
            Err(fault) => Access::Unreadable(fault),
        }
    }

    /// Whether everyone behind a turn may talk to `agent` in its channel.
    pub(super) fn all_may_reach(&self, people: &[Participant], agent: &AgentSummary) -> bool {
        let (Ok(people), Some(channel)) = (all_known(people), agent.channel) else {
            return false;
        };
        let access = self.access(agent);
        let sees = |person: &Person| self.inner.deps.sees(agent.guild, person, channel);
        people
            .into_iter()
            .all(|person| access.admits(person) && sees(person))
    }

    /// The roles that the agent's file names; the last ones known while it is broken.
    fn own_roles(&self, agent: &AgentSummary) -> Result<Option<Vec<RoleId>>, String> {
        let folder = self.inner.deps.paths.agent(agent.name.as_str());
        let stamp = match std::fs::metadata(folder.join(agent_file::NAME)) {
            Ok(file) => (file.modified().ok(), file.len()),
            Err(_) => (None, 0),
        };
        let known = &self.inner.access.roles;
        let mut known = known.lock();
        if let Some((then, roles)) = known.get(&agent.id)
            && *then == stamp
        {
            return Ok(roles.clone());
        }
        let read = Workspace::open(&folder)
            .map_err(|error| format!("{}: {error}", folder.display()))
            .and_then(|workspace| {
                agent_file::read(workspace.agent()).map_err(|error| error.to_string())
            });
        match (read, known.get(&agent.id)) {
            (Ok(file), _) => {
                let roles = file.config.access_roles;
                known.insert(agent.id, (stamp, roles.clone()));
                Ok(roles)
            }
            (Err(_), Some((_, roles))) => Ok(roles.clone()),
            (Err(fault), None) => Err(fault),
        }
    }

    /// Tells, after a start, of the agents of a server whose files cannot be used.
    pub async fn tell_unusable(&self, guild: GuildId) {
        let this = self.clone();
        let looked = tokio::task::spawn_blocking(move || {
            // Of a folder that is gone people are told apart.
            let agents = this.agents(guild).into_iter();
            let agents = agents.filter(|agent| this.has_folder(agent));
            agents
                .map(|agent| (this.configuration(&agent), agent))
                .collect::<Vec<_>>()
        });
        for (read, agent) in looked.await.unwrap_or_default() {
            self.tell_of_file(&agent, &read).await;
        }
    }

    /// Tells once that nobody but administrators may talk to an agent.
    pub async fn tell_if_unreadable(&self, agent: &AgentSummary, access: &Access) {
        if matches!(access, Access::Unreadable(_)) {
            self.tell_of_file(agent, &self.configuration(agent)).await;
        }
    }

    fn configuration(&self, agent: &AgentSummary) -> Configuration {
        let folder = self.inner.deps.paths.agent(agent.name.as_str());
        self.inner.deps.configuration(agent.id, &folder)
    }

    async fn tell_of_file(&self, agent: &AgentSummary, read: &Configuration) {
        if let Some(channel) = agent.channel {
            let deps = &self.inner.deps;
            deps.tell_of_file(agent.id, &agent.name, channel, read)
                .await;
        }
    }
}
