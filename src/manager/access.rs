//! Who may talk to an agent: by the roles in its file, and by the channels that people see where one agent asks another.

use tracing::warn;

use crate::agent::{
    Access, AgentCommand, Beginning, Configuration, Identity, MOST_CORE_AGENTS, NoAccess, Target,
};
use crate::domain::{AgentId, ChannelId, GuildId, Inbound, Participant, Person};
use crate::permission::all_known;
use crate::store::{StoreError, TurnEnd, TurnRow};

use super::AgentManager;
use super::error::ManagerError;
use super::registry::AgentSummary;

impl AgentManager {
    /// Returns who may talk to an agent: the roles of its own file, or the last known ones while it is broken; otherwise the
    /// server's.
    pub async fn access(&self, agent: &AgentSummary) -> Access {
        self.inner.deps.access(&self.identity(agent)).await
    }

    /// The agent under its present name: it may have been renamed since it was found. No one sees an agent without a
    /// channel.
    fn identity(&self, agent: &AgentSummary) -> Identity {
        let now = self.inner.registry.get(agent.id);
        let now = now.as_ref().unwrap_or(agent);
        let channel = now.channel.unwrap_or(ChannelId(0));
        Identity::elsewhere(now.id, now.name.clone(), now.guild, channel)
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
            self.inner.deps.access_by(&identity, read.configuration()),
            Some(Box::new(read)),
        )
    }

    /// Whether everyone behind a turn may talk to `agent` in its channel.
    pub(super) async fn all_may_reach(&self, people: &[Participant], agent: &AgentSummary) -> bool {
        match all_known(people) {
            Ok(people) => {
                let agent = self.identity(agent);
                self.inner.deps.all_reach(&people, &agent).await
            }
            Err(_) => false,
        }
    }

    /// Checks that `person` may join work of these agents, the one in whose channel it is seen first: what they would need to
    /// begin it ([`AgentDeps::may_join`](crate::agent::AgentDeps::may_join)).
    ///
    /// # Errors
    ///
    /// The first agent to which they have no access.
    pub async fn may_join(&self, person: &Person, agents: &[AgentId]) -> Result<(), NoAccess> {
        let mut at_work = Vec::with_capacity(agents.len());
        for id in agents {
            let agent = self.inner.registry.get(*id);
            let agent = agent.ok_or_else(|| NoAccess {
                agent: "(destroyed)".to_owned(),
            })?;
            at_work.push(self.identity(&agent));
        }
        let at_work: Vec<&Identity> = at_work.iter().collect();
        self.inner.deps.may_join(person, &at_work).await
    }

    /// Checks that the author of a message may join what works where it was written: a sub-agent in a thread may be another
    /// agent. Where they may not, they are told.
    ///
    /// # Errors
    ///
    /// The agent to which they have no access, or that the ledger failed.
    pub async fn may_write(&self, message: &Inbound) -> Result<Result<(), NoAccess>, StoreError> {
        if message.parent_id.is_none() {
            return Ok(Ok(()));
        }
        let store = &self.inner.deps.store;
        let Some(child) = store.child_in_thread(message.channel_id).await? else {
            return Ok(Ok(()));
        };
        let latest = store.turns(child.id, 1).await?.pop();
        let Some(turn) = latest.filter(|turn| turn.state == TurnEnd::Running) else {
            return Ok(Ok(()));
        };
        let agents = match self.at_work_in(&turn) {
            Ok(agents) if agents.len() < 2 => return Ok(Ok(())),
            Ok(agents) => agents,
            Err(gone) => return Ok(Err(gone)),
        };
        let agents: Vec<&Identity> = agents.iter().collect();
        let deps = &self.inner.deps;
        let joined = deps.author_may_join(message, &agents).await;
        if let Err(why) = &joined {
            deps.tell_turned_away(message, why).await;
        }
        Ok(joined)
    }

    /// Checks that `person` may end what a request to stop is about: a sub-agent may be another agent. Who may talk to an
    /// agent may stop its own turns, and with them what works for these.
    pub(super) async fn may_stop(
        &self,
        target: Target,
        person: &Person,
    ) -> Result<(), ManagerError> {
        let store = &self.inner.deps.store;
        let turn = match target {
            Target::Child(turn) => store.turn(turn).await?,
            Target::ChildIn(conversation) => store.turns(conversation, 1).await?.pop(),
            _ => None,
        };
        let Some(turn) = turn else {
            return Ok(());
        };
        let may_join = async {
            let agents = self.at_work_in(&turn)?;
            let agents: Vec<&Identity> = agents.iter().collect();
            self.inner.deps.may_join(person, &agents).await
        };
        let joined = may_join.await;
        joined.map_err(|why| ManagerError::refused(why.to_string()))
    }

    /// The agents that work in a turn: that of its run, and those that its path names.
    fn at_work_in(&self, turn: &TurnRow) -> Result<Vec<Identity>, NoAccess> {
        let own = self.inner.registry.get(turn.begun.agent);
        let own = own.ok_or_else(|| NoAccess {
            agent: "(destroyed)".to_owned(),
        })?;
        let names = turn.begun.path.split('/');
        let others = names.filter_map(|name| name.strip_prefix('@'));
        let others = others.map(|name| {
            let found = self.find(own.guild, name);
            found.map_err(|_| NoAccess {
                agent: name.to_owned(),
            })
        });
        let all: Result<Vec<AgentSummary>, NoAccess> =
            std::iter::once(Ok(own.clone())).chain(others).collect();
        Ok(all?.iter().map(|agent| self.identity(agent)).collect())
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
