//! `/agent repair`: restores what an agent lost, parts of its folder or its channel.

use serde_json::Value;

use crate::agent::event::Event;
use crate::clock;
use crate::domain::{AgentConfig, AgentStatus, ChannelId, GuildId, Person};
use crate::manager::directory::folder;
use crate::manager::directory::folder::{is_there, off_thread};
use crate::manager::directory::registry::AgentSummary;
use crate::manager::error::ManagerError;
use crate::manager::lifecycle::Lifecycle;
use crate::manager::lifecycle::new_agent::Made;
use crate::manager::lifecycle::new_agent::purpose;
use crate::manager::ports::Channels;
use crate::store::IntentKind;

/// What to do about a missing folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LostFolder {
    /// Nothing yet: somebody has to confirm it.
    Ask,
    /// A new one is made.
    MakeNew,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repaired {
    /// One line on what was done.
    Done(String),
    /// The folder is missing. The text says what a new one would lack, for whoever decides.
    NeedsFolder(String),
}

impl Lifecycle {
    /// Restores what is missing, and returns what that was.
    ///
    /// # Errors
    ///
    /// A sentence with the reason.
    pub(crate) async fn repair(
        &self,
        guild: GuildId,
        name: &str,
        lost: LostFolder,
        by: &Person,
        channels: &dyn Channels,
    ) -> Result<Repaired, ManagerError> {
        let _alone = self.names.lock(name).await;
        let agent = self.directory.find(guild, name)?;
        let path = self.deps.paths.agent(agent.name.as_str());
        if lost == LostFolder::Ask && !is_there(&path).await {
            return Ok(Repaired::NeedsFolder(format!(
                "The folder of `{}` is gone ({}). If you have a backup, put the folder back from it and run the command again. A new folder keeps channel, model and permissions; the system prompt, the notes, the workspace and the files of saved sessions are lost.",
                agent.name,
                path.display()
            )));
        }
        let row = self.audit.agent_row("agent_repair", &agent, by);
        let repaired = self.repair_found(guild, agent, channels);
        self.audit.audited(row, repaired).await
    }

    async fn repair_found(
        &self,
        guild: GuildId,
        agent: AgentSummary,
        channels: &dyn Channels,
    ) -> Result<Repaired, ManagerError> {
        let path = self.deps.paths.agent(agent.name.as_str());
        let mut repaired = Vec::new();
        if !is_there(&path).await {
            self.make_folder_again(&agent).await?;
            repaired.push("made a new folder".to_owned());
        }
        let (at, called) = (path.clone(), agent.name.clone());
        let completed = off_thread(move || {
            folder::complete(&at, &called)?;
            folder::read(&at)
        });
        let config = completed.await?.config;
        let channel = self
            .channel_again(&agent, &config, &mut repaired, channels)
            .await?;
        self.directory
            .settle_intent(agent.id, IntentKind::Repair)
            .await;
        if agent.channel == Some(channel)
            && agent.status == AgentStatus::Active
            && repaired.is_empty()
        {
            return Ok(Repaired::Done(format!(
                "There is nothing to repair: `{}` has its folder, repository and channel.",
                agent.name
            )));
        }
        let written = folder::change(path, move |keys| {
            keys.insert("channel_id".to_owned(), Value::from(channel.0));
            keys.insert("id".to_owned(), Value::String(agent.id.to_string()));
        });
        let file = written.await?;
        let whole = AgentSummary {
            channel: Some(channel),
            status: AgentStatus::Active,
            ..agent.clone()
        };
        self.directory.index(&whole, &file.config).await?;
        let closed = self.gate.close(agent.id);
        let nobody = self.end_actor(&agent).await;
        self.directory.registry.put(whole);
        drop((closed, nobody));
        self.resume(agent.id).await;
        self.deps.emit(Event::Bound(guild, channel));
        if agent.channel != Some(channel) {
            let model = self.settings.choice(guild, file.config.model.as_deref());
            let made = Made::of(
                agent.name.clone(),
                channel,
                model,
                file.config,
                &self.deps.profiles.load(),
            );
            if let Err(reason) = channels.welcome(channel, &made).await {
                repaired.push(format!("the welcome message could not be posted: {reason}"));
            }
        }
        Ok(Repaired::Done(format!(
            "Repaired `{}`: {}.",
            agent.name,
            repaired.join("; ")
        )))
    }

    /// The agent's channel: the one it has, a free one with its name, or a new one.
    async fn channel_again(
        &self,
        agent: &AgentSummary,
        config: &AgentConfig,
        repaired: &mut Vec<String>,
        channels: &dyn Channels,
    ) -> Result<ChannelId, ManagerError> {
        if let Some(channel) = agent.channel
            && channels.exists(agent.guild, channel).await?
        {
            return Ok(channel);
        }
        let found = channels.find(agent.guild, agent.name.as_str()).await?;
        let free = found.filter(|channel| self.directory.registry.in_channel(*channel).is_none());
        if let Some(channel) = free {
            repaired.push(format!("took over the channel <#{channel}>"));
            return Ok(channel);
        }
        let made = channels
            .create(
                agent.guild,
                agent.name.as_str(),
                &purpose(&config.system_prompt),
            )
            .await;
        let channel = made?;
        repaired.push(format!("made the channel <#{channel}>"));
        Ok(channel)
    }

    /// Makes a folder from the template, with what the agent's row knows.
    async fn make_folder_again(&self, agent: &AgentSummary) -> Result<(), ManagerError> {
        let row = self.deps.store.agent(agent.id).await?;
        let row = row.ok_or_else(|| {
            ManagerError::Failed(format!("the database has no row of agent {}", agent.name))
        })?;
        self.folders
            .make_folder(&agent.name, None, None, move |template| AgentConfig {
                id: Some(row.id),
                name: row.name,
                channel_id: row.channel_id,
                model: row.model,
                permissions: row.permissions,
                owner_id: row.owner_id,
                created_at: Some(row.created_at),
                back_since: Some(clock::now()),
                running_tasks: Vec::new(),
                workspace: None,
                ..template
            })
            .await
    }
}
