//! `/agent destroy`: contexts saved first; then turns, tasks, channel, status and files go, in this order.

use tokio::sync::oneshot;
use tracing::{info, warn};

use crate::agent::Letter;
use crate::domain::{AgentStatus, ChannelId, GuildId, SessionMeta};

use super::error::ManagerError;
use super::handle::AgentManager;
use super::ports::Channels;
use super::roster::AgentSummary;

/// What happens to an agent's folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepFiles {
    /// It stays as it is.
    Yes,
    /// It is deleted.
    No,
}

/// What became of an agent's folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Files {
    /// It stays.
    Kept,
    /// It is gone.
    Deleted,
}

/// What a destruction came to.
#[derive(Clone, Debug)]
pub struct Destroyed {
    /// The agent.
    pub name: String,
    /// The channel that went with it.
    pub channel: Option<ChannelId>,
    /// The sessions its contexts were saved as.
    pub saved: Vec<SessionMeta>,
    /// What became of its folder.
    pub files: Files,
    /// What did not go as it should, a sentence each.
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
        channels: &dyn Channels,
    ) -> Result<Destroyed, ManagerError> {
        let _alone = self.inner.lifecycle.lock().await;
        let agent = self.find(guild, name)?;
        let saved = self.save_for_destroy(&agent).await?;
        self.end_actor(&agent).await;
        let mut notes = Vec::new();
        self.end_tasks(&agent).await;
        if let Some(channel) = agent.channel
            && let Err(reason) = channels.delete(channel).await
        {
            warn!(agent.id = %agent.id, "the channel of {} stays: {reason}", agent.name);
            notes.push(format!("The channel could not be deleted: {reason}"));
        }
        self.inner
            .parts
            .store
            .set_status(agent.id, AgentStatus::Destroyed)
            .await?;
        self.inner.roster.remove(agent.id);
        let files = match keep {
            KeepFiles::Yes => Files::Kept,
            KeepFiles::No => {
                self.remove_folder(&agent.name).await;
                Files::Deleted
            }
        };
        info!(agent.id = %agent.id, "agent {} was destroyed", agent.name);
        Ok(Destroyed {
            name: agent.name.to_string(),
            channel: agent.channel,
            saved,
            files,
            notes,
        })
    }

    async fn save_for_destroy(
        &self,
        agent: &AgentSummary,
    ) -> Result<Vec<SessionMeta>, ManagerError> {
        if agent.channel.is_none() {
            return Ok(Vec::new());
        }
        let (reply, saved) = oneshot::channel();
        self.deliver(agent, Letter::SaveForDestroy(reply)).await?;
        let saved = saved
            .await
            .map_err(|_| ManagerError::Failed("the agent ended before it was saved".to_owned()))?;
        saved.map_err(|error| {
            ManagerError::refused(format!(
                "The session could not be saved, so nothing was deleted: {error}"
            ))
        })
    }

    /// Ends an agent's actor and waits for it; the next message makes a new one.
    pub(super) async fn end_actor(&self, agent: &AgentSummary) {
        let Some(actor) = self.inner.roster.drop_actor(agent.id) else {
            return;
        };
        let (reply, ended) = oneshot::channel();
        if actor.send(Letter::Close(reply)).await.is_ok() {
            // Dropped without an answer means that it has ended as well.
            let _ = ended.await;
        }
    }

    /// The agent of that name in a server.
    pub(super) fn find(&self, guild: GuildId, name: &str) -> Result<AgentSummary, ManagerError> {
        let agents = self.inner.roster.of_guild(guild);
        agents
            .iter()
            .find(|agent| agent.name.as_str() == name)
            .cloned()
            .ok_or_else(|| ManagerError::NoSuchAgent {
                name: crate::text::one_line(name, 60),
                near: crate::text::near(name, agents.iter().map(|agent| agent.name.as_str()))
                    .map(str::to_owned),
            })
    }
}
