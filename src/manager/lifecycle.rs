//! What is done to an agent as a whole: it is made, configured, renamed, repaired and destroyed.

mod always_allow;
pub(crate) mod bindings;
pub(crate) mod configurator;
pub(crate) mod creator;
pub(crate) mod destroy;
pub(crate) mod folders;
pub(crate) mod new_agent;
pub(crate) mod origin;
mod own_charter;
mod rename;
pub(crate) mod repair;

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::agent::{AgentCommand, AgentDeps, AgentHandle, NobodyElsewhere};
use crate::domain::AgentId;
use crate::manager::audit::Audit;
use crate::manager::directory::Directory;
use crate::manager::directory::registry::AgentSummary;
use crate::manager::lifecycle::folders::AgentFolders;
use crate::manager::names::{Gate, NameLocks, Renaming};
use crate::manager::routing::Routing;
use crate::manager::routing::tasks::AgentTasks;
use crate::manager::servers::settings::ServerSettings;

/// Renames, repairs and destroys agents.
pub(crate) struct Lifecycle {
    pub(crate) deps: Arc<AgentDeps>,
    pub(crate) directory: Arc<Directory>,
    pub(crate) audit: Arc<Audit>,
    pub(crate) settings: Arc<ServerSettings>,
    pub(crate) routing: Arc<Routing>,
    pub(crate) tasks: Arc<AgentTasks>,
    pub(crate) folders: Arc<AgentFolders>,
    pub(crate) names: Arc<NameLocks>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) renaming: Renaming,
}

impl Lifecycle {
    /// Ends an agent's actor and waits for it; the next message makes a new one. Nobody else works as the agent until what this
    /// gives is dropped.
    pub(crate) async fn end_actor(&self, agent: &AgentSummary) -> NobodyElsewhere {
        let nobody = self.deps.at_work.end(agent.id).await;
        Self::end(self.directory.registry.drop_actor(agent.id)).await;
        nobody
    }

    async fn end(actor: Option<AgentHandle>) {
        let Some(actor) = actor else { return };
        let (reply, ended) = oneshot::channel();
        if actor.send(AgentCommand::Close(reply)).await.is_ok() {
            // A reply that is dropped means that it has ended as well.
            let _ = ended.await;
        }
    }

    /// Starts the actor of an agent that has a conversation open, so that its silence is measured and a stop saves it.
    pub(crate) async fn resume(&self, agent: AgentId) {
        let Some(agent) = self.directory.registry.get(agent) else {
            return;
        };
        let open = self.deps.store.conversations(agent.id).await;
        let has_context = open.is_ok_and(|rows| rows.iter().any(|row| row.items > 0));
        let Some(channel) = agent.channel.filter(|_| has_context) else {
            return;
        };
        if let Err(error) = self
            .routing
            .deliver(&agent, AgentCommand::Activity(channel))
            .await
        {
            tracing::warn!(agent.id = %agent.id, "failed to take up the conversation of {} again: {error}", agent.name);
        }
    }
}
