//! The agents that exist: their index in memory, their files and rows, and the states of their conversations.
//!
//! It neither makes nor changes agents (see `lifecycle`), and sends them nothing but a question for their state.

mod file_count;
pub(crate) mod folder;
pub(crate) mod registry;
mod removal;
pub(crate) mod roles;
pub(crate) mod runs;
pub(crate) mod sessions;
pub(crate) mod status;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::oneshot;
use tracing::warn;

use crate::agent::{Access, AgentCommand, AgentDeps, Configuration, ConversationState, Identity};
use crate::domain::{AgentConfig, AgentId, AgentStatus, ChannelId, GuildId};
use crate::manager::directory::registry::{AgentRegistry, AgentSummary};
use crate::manager::error::ManagerError;
use crate::store::{AgentRow, IntentKind, Registered};
use crate::workspace::{Workspace, agent_file};
use crate::{clock, text};
pub use file_count::FileCount;

/// The agents that exist: their index, files, roles and saved sessions. Starts no work.
pub(crate) struct Directory {
    pub(crate) deps: Arc<AgentDeps>,
    pub(crate) registry: AgentRegistry,
}

impl Directory {
    /// The agent under its present name: it may have been renamed since it was found. No one sees an agent without a
    /// channel.
    pub(crate) fn identity(&self, agent: &AgentSummary) -> Identity {
        let now = self.registry.get(agent.id);
        let now = now.as_ref().unwrap_or(agent);
        let channel = now.channel.unwrap_or(ChannelId(0));
        Identity::elsewhere(now.id, now.name.clone(), now.guild, channel)
    }

    /// Reports once that only administrators may talk to an agent.
    pub(crate) async fn tell_if_unreadable(&self, agent: &AgentSummary, access: &Access) {
        if *access == Access::Unreadable {
            let read = self.configuration(agent).await;
            self.tell_of_file(agent, &read).await;
        }
    }

    pub(crate) async fn configuration(&self, agent: &AgentSummary) -> Configuration {
        // Its present name: it may have been renamed since it was found.
        let now = self.registry.get(agent.id);
        let name = &now.as_ref().unwrap_or(agent).name;
        let folder = self.deps.paths.agent(name.as_str());
        self.deps.configuration(agent.id, folder).await
    }

    pub(crate) async fn tell_of_file(&self, agent: &AgentSummary, read: &Configuration) {
        if let Some(channel) = agent.channel {
            let deps = &self.deps;
            deps.tell_of_file(agent.id, &agent.name, channel, read)
                .await;
        }
    }

    /// Reports in an agent's channel whether the folder that it is bound to can be used.
    pub(crate) async fn tell_of_workspace(&self, agent: &AgentSummary) {
        if let Some(channel) = agent.channel {
            let folder = self.deps.paths.agent(agent.name.as_str());
            let state = self.deps.workspace_state(folder).await;
            self.deps
                .tell_of_workspace(agent.id, &agent.name, channel, &state)
                .await;
        }
    }

    /// Updates the agent's row from its configuration.
    pub(crate) async fn index(
        &self,
        agent: &AgentSummary,
        config: &AgentConfig,
    ) -> Result<(), ManagerError> {
        let row = Self::row_of(agent, config);
        match self.deps.store.update_agent(row).await? {
            Registered::Done => Ok(()),
            Registered::NameTaken | Registered::ChannelTaken => Err(ManagerError::refused(
                "Another agent has that name or channel.",
            )),
        }
    }

    /// The row of an agent with this configuration.
    pub(crate) fn row_of(agent: &AgentSummary, config: &AgentConfig) -> AgentRow {
        AgentRow {
            id: agent.id,
            name: agent.name.to_string(),
            guild_id: agent.guild,
            channel_id: agent.channel,
            model: config.model.clone(),
            permissions: config.permissions.clone(),
            owner_id: config.owner_id,
            created_at: config.created_at.unwrap_or_else(clock::now),
            back_since: config.back_since,
            status: AgentStatus::Active,
        }
    }

    /// Marks an intent as done. If that fails, the next start finds nothing left to do.
    pub(crate) async fn settle_intent(&self, agent: AgentId, kind: IntentKind) {
        if let Err(error) = self.deps.store.settled(agent, kind).await {
            warn!(agent.id = %agent, "failed to note that {kind:?} of agent {agent} is done: {error}");
        }
    }

    /// The folder of the machine that an agent's file names as its workspace.
    pub(crate) async fn bound_folder(&self, agent: &AgentSummary) -> Option<PathBuf> {
        let path = self.deps.paths.agent(agent.name.as_str());
        let read = folder::off_thread(move || {
            let own = Workspace::open(&path).ok();
            Ok(own.and_then(|own| agent_file::workspace(own.agent()).ok()?))
        });
        read.await.ok().flatten()
    }

    /// Whether the agent's own folder exists.
    pub(crate) async fn has_folder(&self, agent: &AgentSummary) -> bool {
        let folder = self.deps.paths.agent(agent.name.as_str());
        let found = tokio::fs::metadata(folder).await;
        found.is_ok_and(|found| found.is_dir())
    }

    /// Counts the files that would be deleted with an agent.
    pub(crate) async fn file_count(&self, agent: &AgentSummary) -> FileCount {
        file_count::below(self.deps.paths.agent(agent.name.as_str())).await
    }

    /// The agent of that name in a server.
    pub(crate) fn find(&self, guild: GuildId, name: &str) -> Result<AgentSummary, ManagerError> {
        let agents = self.registry.of_guild(guild);
        agents
            .iter()
            .find(|agent| agent.name.as_str() == name)
            .cloned()
            .ok_or_else(|| ManagerError::NoSuchAgent {
                name: text::one_line(name, 60),
                near: text::near(name, agents.iter().map(|agent| agent.name.as_str()))
                    .map(str::to_owned),
            })
    }

    /// The agent that lives in `channel`, or in the channel above when it is a thread.
    pub(crate) fn agent_for(
        &self,
        channel: ChannelId,
        parent: Option<ChannelId>,
    ) -> Option<AgentSummary> {
        let registry = &self.registry;
        registry
            .in_channel(channel)
            .or_else(|| registry.in_channel(parent?))
    }

    /// The agents of a server that are not destroyed, by name.
    pub(crate) fn agents(&self, guild: GuildId) -> Vec<AgentSummary> {
        self.registry.of_guild(guild)
    }

    /// The agent of this id, unless it is destroyed.
    pub(crate) fn agent(&self, id: AgentId) -> Option<AgentSummary> {
        self.registry.get(id)
    }

    /// All servers that have agents.
    pub(crate) fn guilds(&self) -> Vec<GuildId> {
        self.registry.guilds()
    }

    /// The state of an agent's conversations; from its actor, else from the ledger.
    pub(crate) async fn states(&self, agent: &AgentSummary) -> Vec<ConversationState> {
        if let Some(actor) = self.registry.running(agent.id) {
            let (reply, states) = oneshot::channel();
            if actor.send(AgentCommand::Status(reply)).await.is_ok()
                && let Ok(states) = states.await
            {
                return states;
            }
        }
        let rows = self
            .deps
            .store
            .conversations(agent.id)
            .await
            .unwrap_or_default();
        rows.into_iter()
            .map(|row| ConversationState {
                id: row.id,
                branch: (row.number > 0).then_some(row.number),
                channel: row.thread.or(agent.channel).unwrap_or(ChannelId(0)),
                messages: row.items as usize,
                tokens: None,
                waiting: 0,
                last_activity: row.last_active_at,
                turn: None,
            })
            .collect()
    }
}
