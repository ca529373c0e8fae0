//! `/agent destroy`: saves contexts and stores the intent; then ends turns and tasks and removes channel, files and status.
//!
//! Once the intent is stored the agent counts as destroyed, and a start after a crash finishes the rest (`settle`).

use std::path::PathBuf;

use serde_json::json;
use tokio::sync::oneshot;
use tracing::{info, warn};

use crate::agent::{AgentCommand, Stopper};
use crate::domain::{AgentId, AgentName, ChannelId, GuildId, Person, SessionMeta};
use crate::manager::directory::folder;
use crate::manager::directory::registry::AgentSummary;
use crate::manager::error::ManagerError;
use crate::manager::lifecycle::Lifecycle;
use crate::manager::ports::Channels;
use crate::store::{AuditRow, IntentKind};
use crate::text;

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
    /// The folder of the machine that it worked in, which stays.
    pub bound: Option<PathBuf>,
    /// What went wrong, a sentence each.
    pub notes: Vec<String>,
}

impl Lifecycle {
    /// Ends an agent. If a context cannot be saved, nothing is deleted.
    ///
    /// # Errors
    ///
    /// A sentence with the reason.
    pub(crate) async fn destroy(
        &self,
        guild: GuildId,
        name: &str,
        keep: KeepFiles,
        by: &Person,
        channels: &dyn Channels,
    ) -> Result<Destroyed, ManagerError> {
        let _alone = self.names.lock(name).await;
        let agent = self.directory.find(guild, name)?;
        let row = AuditRow {
            detail: Some(json!({ "keep_files": keep == KeepFiles::Yes }).to_string()),
            ..self.audit.agent_row("agent_destroy", &agent, by)
        };
        let destroyed = self.destroy_found(agent, keep, by, channels);
        self.audit.audited(row, destroyed).await
    }

    async fn destroy_found(
        &self,
        agent: AgentSummary,
        keep: KeepFiles,
        by: &Person,
        channels: &dyn Channels,
    ) -> Result<Destroyed, ManagerError> {
        // It takes as long as a summary does, and other agents know of it meanwhile.
        let _nobody = self.deps.at_work.end(agent.id).await;
        let mut notes = Vec::new();
        let bound = self.directory.bound_folder(&agent).await;
        let saved = if self.directory.has_folder(&agent).await {
            self.save_for_destroy(&agent, by).await?
        } else {
            notes.extend(self.unsaved(&agent).await);
            Vec::new()
        };
        let keep_files = keep == KeepFiles::Yes;
        let store = &self.deps.store;
        if let Err(error) = store.begin_destroy(agent.id, keep_files).await {
            self.spare(&agent).await;
            return Err(error.into());
        }
        let actor = self.directory.registry.running(agent.id);
        // Before its channel is deleted: nobody is to be told that it lost its channel.
        self.directory.registry.remove(agent.id);
        self.deps.configurations.core.forget(agent.id);
        Self::end(actor).await;
        self.tasks.end_all(agent.id).await;
        if let Some(channel) = agent.channel
            && let Err(reason) = channels.delete(channel).await
        {
            warn!(agent.id = %agent.id, "failed to delete the channel of {}: {reason}", agent.name);
            notes.push(format!("The channel could not be deleted: {reason}"));
        }
        self.destroy_locally(agent.id, &agent.name, keep_files)
            .await?;
        self.directory
            .settle_intent(agent.id, IntentKind::Destroy)
            .await;
        info!(agent.id = %agent.id, "agent {} was destroyed", agent.name);
        Ok(Destroyed {
            name: agent.name.to_string(),
            channel: agent.channel,
            saved,
            bound,
            files: match keep {
                KeepFiles::Yes => Files::Kept,
                KeepFiles::No => Files::Deleted,
            },
            notes,
        })
    }

    /// Removes folder and row of an agent that is being destroyed; doing it twice does no harm.
    pub(crate) async fn destroy_locally(
        &self,
        id: AgentId,
        name: &AgentName,
        keep_files: bool,
    ) -> Result<(), ManagerError> {
        let servers = self.deps.services.mcp.as_ref();
        if let Some(servers) = servers {
            servers.end_agent(id).await;
        }
        if keep_files {
            self.let_go_of_channel(name).await
        } else {
            self.folders.remove_folder(name).await
        }
        self.deps.store.destroy_agent(id).await?;
        if let Some(servers) = servers {
            servers.forget_agent(id).await;
        }
        Ok(())
    }

    /// Kept files must name no channel: without its row, an agent would be rebuilt from the channel in its file.
    async fn let_go_of_channel(&self, name: &AgentName) {
        let folder = self.deps.paths.agent(name.as_str());
        let written = folder::change(folder, |keys| {
            keys.insert("channel_id".to_owned(), json!(null));
        });
        if let Err(error) = written.await {
            warn!("failed to take the channel out of the kept files of {name}: {error}");
        }
    }

    /// A note that the conversation of an agent without its folder cannot be saved.
    async fn unsaved(&self, agent: &AgentSummary) -> Option<String> {
        let states = self.directory.states(agent).await;
        let messages: usize = states.iter().map(|state| state.messages).sum();
        (messages > 0).then(|| {
            format!(
                "Its folder was already gone, so its conversation of {} could not be saved.",
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
        self.routing
            .deliver(agent, AgentCommand::SaveForDestroy(by, reply))
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
        let Some(actor) = self.directory.registry.running(agent.id) else {
            return;
        };
        if actor.send(AgentCommand::Spared).await.is_err() {
            warn!(agent.id = %agent.id, "failed to spare {}: it has ended; its next message starts it again", agent.name);
        }
    }
}
