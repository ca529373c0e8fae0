//! `/agent destroy`: saves contexts and stores the intent; then ends turns and tasks and removes channel, files and status.
//!
//! Once the intent is stored the agent counts as destroyed, and a start after a crash finishes the rest (`settle`).

use serde_json::json;
use tokio::sync::oneshot;
use tracing::{info, warn};

use crate::agent::{AgentCommand, AgentHandle, NobodyElsewhere, Stopper};
use crate::domain::{AgentId, AgentName, ChannelId, GuildId, Person, SessionMeta};
use crate::store::{AuditRow, IntentKind};
use crate::text;

use super::AgentManager;
use super::error::ManagerError;
use super::folder;
use super::ports::Channels;
use super::registry::AgentSummary;

/// What happens to an agent's folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepFiles {
    Yes,
    No,
}

/// What was done with an agent's folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Files {
    Kept,
    Deleted,
}

/// The outcome of a destruction.
#[derive(Clone, Debug)]
pub struct Destroyed {
    pub name: String,
    /// The channel that was deleted with it.
    pub channel: Option<ChannelId>,
    /// The sessions its contexts were saved as.
    pub saved: Vec<SessionMeta>,
    /// What was done with its folder.
    pub files: Files,
    /// What went wrong, a sentence each.
    pub notes: Vec<String>,
}

impl AgentManager {
    /// Ends an agent. If a context cannot be saved, nothing is deleted.
    ///
    /// # Errors
    ///
    /// A sentence with the reason.
    pub async fn destroy(
        &self,
        guild: GuildId,
        name: &str,
        keep: KeepFiles,
        by: &Person,
        channels: &dyn Channels,
    ) -> Result<Destroyed, ManagerError> {
        let _alone = self.inner.names.lock(name).await;
        let agent = self.find(guild, name)?;
        let row = AuditRow {
            detail: Some(json!({ "keep_files": keep == KeepFiles::Yes }).to_string()),
            ..self.agent_row("agent_destroy", &agent, by)
        };
        let destroyed = self.destroy_found(agent, keep, by, channels);
        self.audited(row, destroyed).await
    }

    async fn destroy_found(
        &self,
        agent: AgentSummary,
        keep: KeepFiles,
        by: &Person,
        channels: &dyn Channels,
    ) -> Result<Destroyed, ManagerError> {
        // It takes as long as a summary does, and other agents know of it meanwhile.
        let _nobody = self.inner.deps.at_work.end(agent.id).await;
        let mut notes = Vec::new();
        let saved = if self.has_folder(&agent).await {
            self.save_for_destroy(&agent, by).await?
        } else {
            notes.extend(self.unsaved(&agent).await);
            Vec::new()
        };
        let keep_files = keep == KeepFiles::Yes;
        let store = &self.inner.deps.store;
        if let Err(error) = store.begin_destroy(agent.id, keep_files).await {
            self.spare(&agent).await;
            return Err(error.into());
        }
        let actor = self.inner.registry.running(agent.id);
        // Before its channel is deleted: nobody is to be told that it lost its channel.
        self.inner.registry.remove(agent.id);
        self.inner.deps.configurations.core.forget(agent.id);
        Self::end(actor).await;
        self.end_tasks(agent.id).await;
        if let Some(channel) = agent.channel
            && let Err(reason) = channels.delete(channel).await
        {
            warn!(agent.id = %agent.id, "failed to delete the channel of {}: {reason}", agent.name);
            notes.push(format!("The channel could not be deleted: {reason}"));
        }
        self.destroy_locally(agent.id, &agent.name, keep_files)
            .await?;
        self.settle_intent(agent.id, IntentKind::Destroy).await;
        info!(agent.id = %agent.id, "agent {} was destroyed", agent.name);
        Ok(Destroyed {
            name: agent.name.to_string(),
            channel: agent.channel,
            saved,
            files: match keep {
                KeepFiles::Yes => Files::Kept,
                KeepFiles::No => Files::Deleted,
            },
            notes,
        })
    }

    /// Removes folder and row of an agent that is being destroyed; doing it twice does no harm.
    pub(super) async fn destroy_locally(
        &self,
        id: AgentId,
        name: &AgentName,
        keep_files: bool,
    ) -> Result<(), ManagerError> {
        if keep_files {
            self.let_go_of_channel(name).await
        } else {
            self.remove_folder(name).await
        }
        Ok(self.inner.deps.store.destroy_agent(id).await?)
    }

    /// Kept files must name no channel: without its row, an agent would be rebuilt from the channel in its file.
    async fn let_go_of_channel(&self, name: &AgentName) {
        let folder = self.inner.deps.paths.agent(name.as_str());
        let written = folder::change(folder, |keys| {
            keys.insert("channel_id".to_owned(), json!(null));
        });
        if let Err(error) = written.await {
            warn!("failed to take the channel out of the kept files of {name}: {error}");
        }
    }

    /// A note that the conversation of an agent without its folder cannot be saved.
    async fn unsaved(&self, agent: &AgentSummary) -> Option<String> {
        let states = self.states(agent).await;
        let messages: usize = states.iter().map(|state| state.messages).sum();
        (messages > 0).then(|| {
            format!(
                "Its folder was gone already, so its conversation of {} could not be saved.",
                text::count(messages, "message", "messages")
            )
        })
    }

    async fn save_for_destroy(
        &self,
        agent: &AgentSummary,
        by: &Person,
    ) -> Result<Vec<SessionMeta>, ManagerError> {
        if agent.channel.is_none() {
            return Ok(Vec::new());
        }
        let (reply, saved) = oneshot::channel();
        let by = Stopper::Destroyer(by.into());
        self.deliver(agent, AgentCommand::SaveForDestroy(by, reply))
            .await?;
        let saved = saved
            .await
            .map_err(|_| ManagerError::Failed("the agent ended before it was saved".to_owned()))?;
        saved.map_err(|error| {
            ManagerError::refused(format!(
                "The session could not be saved, so nothing was deleted: {error}"
            ))
        })
    }

    /// Lets an agent continue that was saved for its destruction, because the destruction could not be stored.
    async fn spare(&self, agent: &AgentSummary) {
        let Some(actor) = self.inner.registry.running(agent.id) else {
            return;
        };
        if actor.send(AgentCommand::Spared).await.is_err() {
            warn!(agent.id = %agent.id, "failed to spare {}: it has ended; its next message starts it again", agent.name);
        }
    }

    /// Ends an agent's actor and waits for it; the next message makes a new one. Nobody else works as the agent until what this
    /// gives is dropped.
    pub(super) async fn end_actor(&self, agent: &AgentSummary) -> NobodyElsewhere {
        let nobody = self.inner.deps.at_work.end(agent.id).await;
        Self::end(self.inner.registry.drop_actor(agent.id)).await;
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

    /// Whether an agent's folder exists.
    pub(super) async fn has_folder(&self, agent: &AgentSummary) -> bool {
        let folder = self.inner.deps.paths.agent(agent.name.as_str());
        let found = tokio::fs::metadata(folder).await;
        found.is_ok_and(|found| found.is_dir())
    }

    /// The agent of that name in a server.
    pub(super) fn find(&self, guild: GuildId, name: &str) -> Result<AgentSummary, ManagerError> {
        let agents = self.inner.registry.of_guild(guild);
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
}
