//! Who may talk to an agent: by the roles in its file, and by the channels that people see where one agent asks another.

use tracing::warn;

use crate::agent::{AgentCommand, Beginning, Configuration, Identity, MOST_CORE_AGENTS};
use crate::domain::{GuildId, Participant, Person, RoleId};
use crate::permission::{all_known, may_talk};

use super::AgentManager;
use super::registry::AgentSummary;

/// Who may talk to an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Members of these roles; an empty list means everyone who sees its channel.
    Roles(Vec<RoleId>),
    /// Administrators only: its `agent.json` cannot be read and was not read since the start, so it is not known whom it
    /// names.
    Unreadable,
}

impl Access {
    /// Whether `person` may talk to the agent.
    pub fn admits(&self, person: &Person) -> bool {
        match self {
            Self::Roles(roles) => may_talk(person, roles),
            Self::Unreadable => person.is_administrator,
        }
    }
}

impl AgentManager {
    /// Who may talk to an agent: the roles of its own file, or the last known ones while it is broken; otherwise the
    /// server's.
    pub async fn access(&self, agent: &AgentSummary) -> Access {
        self.access_by(agent, &self.configuration(agent).await)
    }

    /// The same for somebody whose message came, and all else that the turn for it begins with: it is one reading.
    pub async fn access_and_beginning(
        &self,
        agent: &AgentSummary,
    ) -> (Access, Option<Box<Beginning>>) {
        // Its present name: it may have been renamed since it was found.
        let now = self.inner.registry.get(agent.id);
        let Some((agent, channel)) = now.and_then(|now| now.channel.map(|channel| (now, channel)))
        else {
            return (self.access(agent).await, None);
        };
        let identity = Identity::elsewhere(agent.id, agent.name.clone(), agent.guild, channel);
        let read = self.inner.deps.beginning(&identity, false).await;
        (
            self.access_by(&agent, read.configuration()),
            Some(Box::new(read)),
        )
    }

    fn access_by(&self, agent: &AgentSummary, configuration: &Configuration) -> Access {
        let own = match configuration {
            Configuration::Good(config) => &config.access_roles,
            Configuration::Faulty {
                roles: Some(roles), ..
            } => roles,
            Configuration::Faulty { roles: None, .. } => return Access::Unreadable,
        };
        let servers = || self.server(agent.guild).access_roles;
        Access::Roles(own.clone().unwrap_or_else(servers))
    }

    /// Whether everyone behind a turn may talk to `agent` in its channel.
    pub(super) async fn all_may_reach(&self, people: &[Participant], agent: &AgentSummary) -> bool {
        let (Ok(people), Some(channel)) = (all_known(people), agent.channel) else {
            return false;
        };
        let access = self.access(agent).await;
        let sees = |person: &Person| self.inner.deps.sees(agent.guild, person, channel);
        people
            .into_iter()
            .all(|person| access.admits(person) && sees(person))
    }

    /// Reports, after a start, the agents of a server whose files cannot be used, and makes those ready that go first.
    pub async fn look_at_agents(&self, guild: GuildId) {
        for agent in self.agents(guild) {
            // A missing folder is reported separately.
            if self.has_folder(&agent).await {
                let read = self.configuration(&agent).await;
                self.tell_of_file(&agent, &read).await;
                self.get_ready(&agent, &read).await;
            }
        }
    }

    /// Has an agent that goes first read what its first turn needs, so that problems are reported before anybody writes.
    pub(super) async fn get_ready(&self, agent: &AgentSummary, read: &Configuration) {
        let Configuration::Good(config) = read else {
            return;
        };
        if config.core != Some(true) || agent.channel.is_none() {
            return;
        }
        if !self.inner.deps.configurations.core.has(agent.id) {
            warn!(
                agent.id = %agent.id,
                "agent {} has `core: true`, but {MOST_CORE_AGENTS} agents have it already: it is an ordinary one",
                agent.name
            );
            return;
        }
        if let Err(error) = self.deliver(agent, AgentCommand::GetReady).await {
            warn!(agent.id = %agent.id, "failed to get agent {} ready: {error}", agent.name);
        }
    }

    /// Reports once that only administrators may talk to an agent.
    pub async fn tell_if_unreadable(&self, agent: &AgentSummary, access: &Access) {
        if *access == Access::Unreadable {
            let read = self.configuration(agent).await;
            self.tell_of_file(agent, &read).await;
        }
    }

    pub(super) async fn configuration(&self, agent: &AgentSummary) -> Configuration {
        // Its present name: it may have been renamed since it was found.
        let now = self.inner.registry.get(agent.id);
        let name = &now.as_ref().unwrap_or(agent).name;
        let folder = self.inner.deps.paths.agent(name.as_str());
        self.inner.deps.configuration(agent.id, folder).await
    }

    async fn tell_of_file(&self, agent: &AgentSummary, read: &Configuration) {
        if let Some(channel) = agent.channel {
            let deps = &self.inner.deps;
            deps.tell_of_file(agent.id, &agent.name, channel, read)
                .await;
        }
    }
}
