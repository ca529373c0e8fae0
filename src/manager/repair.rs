//! `/agent repair`: gives an agent back what it lost, its folder's parts or its channel.

use serde_json::Value;

use crate::agent::event::Event;
use crate::domain::{AgentStatus, GuildId};

use super::error::ManagerError;
use super::folder;
use super::handle::AgentManager;
use super::new_agent::Made;
use super::ports::Channels;
use super::roster::AgentSummary;

impl AgentManager {
    /// Mends what is missing and says what that was.
    ///
    /// # Errors
    ///
    /// A sentence with the reason.
    pub async fn repair(
        &self,
        guild: GuildId,
        name: &str,
        channels: &dyn Channels,
    ) -> Result<String, ManagerError> {
        let _alone = self.inner.lifecycle.lock().await;
        let agent = self.find(guild, name)?;
        let path = self.inner.parts.paths.agent(agent.name.as_str());
        if !path.exists() {
            return Err(ManagerError::refused(format!(
                "The folder of `{0}` is gone ({1}). Put it back from a backup, or use `/agent destroy {0}` and make it anew.",
                agent.name,
                path.display()
            )));
        }
        let mut mended = Vec::new();
        folder::complete(&path, &agent.name).map_err(ManagerError::Failed)?;
        let config = folder::read(&path)?.config;
        let channel = match agent.channel {
            Some(channel)
                if channels
                    .exists(guild, channel)
                    .await
                    .map_err(ManagerError::Refused)? =>
            {
                channel
            }
            _ => {
                let found = channels
                    .find(guild, agent.name.as_str())
                    .await
                    .map_err(ManagerError::Refused)?;
                let free = found.filter(|channel| self.inner.roster.in_channel(*channel).is_none());
                match free {
                    Some(channel) => {
                        mended.push(format!("took up the channel <#{channel}>"));
                        channel
                    }
                    None => {
                        let topic = config.system_prompt.lines().next().unwrap_or_default();
                        let topic = crate::text::one_line(topic, 1024);
                        let made = channels.create(guild, agent.name.as_str(), &topic).await;
                        let channel = made.map_err(ManagerError::Refused)?;
                        mended.push(format!("made the channel <#{channel}>"));
                        channel
                    }
                }
            }
        };
        if agent.channel == Some(channel)
            && agent.status == AgentStatus::Active
            && mended.is_empty()
        {
            return Ok(format!(
                "`{}` lacks nothing: folder, repository and channel are there.",
                agent.name
            ));
        }
        let file = folder::rewrite(&path, |keys| {
            keys.insert("channel_id".to_owned(), Value::from(channel.0));
            keys.insert("id".to_owned(), Value::String(agent.id.to_string()));
        })?;
        let repaired = AgentSummary {
            channel: Some(channel),
            status: AgentStatus::Active,
            ..agent.clone()
        };
        self.index(&repaired, &file.config).await?;
        self.end_actor(&agent).await;
        self.inner.roster.put(repaired);
        self.inner.parts.emit(Event::Bound(guild, channel));
        let made = Made {
            name: agent.name.clone(),
            channel,
            model: file.config.model,
            profile: file.config.permissions.label().to_owned(),
            system_prompt: file.config.system_prompt,
            kept_files: true,
            notes: Vec::new(),
        };
        if let Err(reason) = channels.welcome(channel, &made).await {
            mended.push(format!("the welcome message could not be posted: {reason}"));
        }
        Ok(format!("Repaired `{}`: {}.", agent.name, mended.join("; ")))
    }

    /// Agents of a server whose folder is gone.
    pub fn without_folder(&self, guild: GuildId) -> Vec<AgentSummary> {
        let agents = self.inner.roster.of_guild(guild).into_iter();
        agents
            .filter(|agent| !self.inner.parts.paths.agent(agent.name.as_str()).exists())
            .collect()
    }
}
