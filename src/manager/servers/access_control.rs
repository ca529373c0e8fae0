//! Who may talk to an agent: by the roles in its file, and by the channels that people see where one agent asks another.

use std::sync::Arc;

use crate::agent::{Access, AgentDeps, Beginning, Identity, NoAccess, Target};
use crate::domain::{AgentId, Inbound, Participant, Person};
use crate::manager::directory::Directory;
use crate::manager::directory::registry::AgentSummary;
use crate::manager::error::ManagerError;
use crate::permission::all_known;
use crate::store::{StoreError, TurnEnd, TurnRow};

/// Decides who may talk to an agent, join its work and stop it.
pub(crate) struct AccessControl {
    pub(crate) deps: Arc<AgentDeps>,
    pub(crate) directory: Arc<Directory>,
}

impl AccessControl {
    /// Returns who may talk to an agent: the roles of its own file, or the last known ones while it is broken; otherwise the
    /// server's.
    pub(crate) async fn of(&self, agent: &AgentSummary) -> Access {
        self.deps.access(&self.directory.identity(agent)).await
    }

    /// The same for somebody whose message came, and all else that the turn for it begins with: it is one reading.
    pub(crate) async fn access_and_beginning(
        &self,
        agent: &AgentSummary,
    ) -> (Access, Option<Box<Beginning>>) {
        // Its present name: it may have been renamed since it was found.
        let now = self.directory.registry.get(agent.id);
        let Some((agent, channel)) = now.and_then(|now| now.channel.map(|channel| (now, channel)))
        else {
            return (self.of(agent).await, None);
        };
        let identity = Identity::elsewhere(agent.id, agent.name.clone(), agent.guild, channel);
        let read = self.deps.beginning(&identity, false).await;
        (
            self.deps.access_by(&identity, read.configuration()),
            Some(Box::new(read)),
        )
    }

    /// Whether everyone behind a turn may talk to `agent` in its channel.
    pub(crate) async fn all_may_reach(&self, people: &[Participant], agent: &AgentSummary) -> bool {
        match all_known(people) {
            Ok(people) => {
                let agent = self.directory.identity(agent);
                self.deps.all_reach(&people, &agent).await
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
    pub(crate) async fn may_join(
        &self,
        person: &Person,
        agents: &[AgentId],
    ) -> Result<(), NoAccess> {
        let mut at_work = Vec::with_capacity(agents.len());
        for id in agents {
            let agent = self.directory.registry.get(*id);
            let agent = agent.ok_or_else(|| NoAccess {
                agent: "(destroyed)".to_owned(),
            })?;
            at_work.push(self.directory.identity(&agent));
        }
        let at_work: Vec<&Identity> = at_work.iter().collect();
        self.deps.may_join(person, &at_work).await
    }

    /// Checks that the author of a message may join what works where it was written: a sub-agent in a thread may be another
    /// agent. Where they may not, they are told.
    ///
    /// # Errors
    ///
    /// The agent to which they have no access, or that the ledger failed.
    pub(crate) async fn may_write(
        &self,
        message: &Inbound,
    ) -> Result<Result<(), NoAccess>, StoreError> {
        if message.parent_id.is_none() {
            return Ok(Ok(()));
        }
        let store = &self.deps.store;
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
        let deps = &self.deps;
        let joined = deps.author_may_join(message, &agents).await;
        if let Err(why) = &joined {
            deps.tell_turned_away(message, why).await;
        }
        Ok(joined)
    }

    /// Checks that `person` may end what a request to stop is about: a sub-agent may be another agent. Who may talk to an
    /// agent may stop its own turns, and with them what works for these.
    pub(crate) async fn may_stop(
        &self,
        target: Target,
        person: &Person,
    ) -> Result<(), ManagerError> {
        let store = &self.deps.store;
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
            self.deps.may_join(person, &agents).await
        };
        let joined = may_join.await;
        joined.map_err(|why| ManagerError::refused(why.to_string()))
    }

    /// The agents that work in a turn: that of its run, and those that its path names.
    fn at_work_in(&self, turn: &TurnRow) -> Result<Vec<Identity>, NoAccess> {
        let own = self.directory.registry.get(turn.begun.agent);
        let own = own.ok_or_else(|| NoAccess {
            agent: "(destroyed)".to_owned(),
        })?;
        let names = turn.begun.path.split('/');
        let others = names.filter_map(|name| name.strip_prefix('@'));
        let others = others.map(|name| {
            let found = self.directory.find(own.guild, name);
            found.map_err(|_| NoAccess {
                agent: name.to_owned(),
            })
        });
        let all: Result<Vec<AgentSummary>, NoAccess> =
            std::iter::once(Ok(own.clone())).chain(others).collect();
        Ok(all?
            .iter()
            .map(|agent| self.directory.identity(agent))
            .collect())
    }
}
