//! Finishes creations, renames and destructions that a crash interrupted.
//!
//! What needs no Discord is done at the start, before anything else ([`Recovery::settle_locally`]); the rest once the
//! server is known ([`Recovery::settle`]). Each step may have been done already, so a further crash here does no harm.

use futures_util::future::join_all;
use tracing::{error, info, warn};

use crate::domain::{AgentId, AgentName, AgentStatus, GuildId};
use crate::manager::directory::folder::is_there;
use crate::manager::error::ManagerError;
use crate::manager::ports::Channels;
use crate::manager::recovery::Recovery;
use crate::store::{AgentRow, Intent, IntentKind, StoreError};

impl Recovery {
    /// Finishes what needs no Discord. Returns the agents that exist then; those whose destruction is not finished count as
    /// destroyed.
    pub(crate) async fn settle_locally(
        &self,
        rows: Vec<AgentRow>,
    ) -> Result<Vec<AgentRow>, StoreError> {
        let intents = self.deps.store.intents().await?;
        let is_half_made = |row: &AgentRow| row.status == AgentStatus::Created;
        if intents.is_empty() && !rows.iter().any(is_half_made) {
            return Ok(rows);
        }
        for (agent, intent) in &intents {
            let row = rows.iter().find(|row| row.id == *agent).cloned();
            let settled = match (intent, row) {
                (Intent::Rename { from, to }, Some(row)) => {
                    self.lifecycle.recover_rename(row, from, to).await
                }
                (_, Some(_)) => Ok(()),
                (intent, None) => {
                    self.directory.settle_intent(*agent, intent.kind()).await;
                    Ok(())
                }
            };
            if let Err(error) = settled {
                error!(agent.id = %agent, "failed to finish what the last stop left of agent {agent}: {error}");
            }
        }
        for row in rows.into_iter().filter(is_half_made) {
            let creation = self.creator.creation(row).await?;
            let row = &creation.row;
            if !is_there(&self.deps.paths.agent(&row.name)).await {
                info!(agent.id = %row.id, "the creation of {} is taken back: it had only begun", row.name);
                self.creator.undo(&creation).await;
            } else if !intents.iter().any(|(id, _)| *id == row.id) {
                let (kept, before) = (creation.kept, creation.before);
                let intent = Intent::Init { kept, before };
                self.deps.store.intend(row.id, intent).await?;
            }
        }
        let mut rows = self.deps.store.agents().await?;
        for row in &mut rows {
            let ends = |(id, intent): &(AgentId, Intent)| *id == row.id && is_end(intent);
            if intents.iter().any(ends) {
                // It counts as destroyed; its folder may still exist, but is not an unknown one.
                row.status = AgentStatus::Destroyed;
            }
        }
        Ok(rows)
    }

    /// Finishes the destructions that a crash interrupted, once the agents' tasks are known. Only their channels are left
    /// then.
    pub(crate) async fn finish_destructions(&self) -> Result<(), StoreError> {
        let store = &self.deps.store;
        for (agent, intent) in store.intents().await? {
            let Intent::Destroy { keep_files } = intent else {
                continue;
            };
            self.tasks.end_all(agent).await;
            if let Some(row) = store.agent(agent).await?
                && let Err(error) = self.destroy_row(row, keep_files).await
            {
                error!(agent.id = %agent, "failed to finish the destruction of agent {agent}: {error}");
            }
        }
        Ok(())
    }

    async fn destroy_row(&self, row: AgentRow, keep_files: bool) -> Result<(), ManagerError> {
        if row.status == AgentStatus::Destroyed {
            return Ok(());
        }
        let name = AgentName::parse(&row.name)
            .map_err(|error| ManagerError::refused(error.to_string()))?;
        self.lifecycle
            .destroy_locally(row.id, &name, keep_files)
            .await
    }

    /// Finishes, in a server that is known now, what is left to do there.
    pub(crate) async fn settle(&self, guild: GuildId, channels: &dyn Channels) {
        let store = &self.deps.store;
        let intents = match store.intents().await {
            Ok(intents) => intents,
            Err(error) => return error!("failed to read what is under way with agents: {error}"),
        };
        // All at the same time: Discord may delay one of them for minutes.
        let all = intents.into_iter().map(|(agent, intent)| async move {
            let settled = self.settle_one(guild, agent, intent, channels).await;
            if let Err(error) = settled {
                error!(agent.id = %agent, "failed to finish what was begun with agent {agent}: {error}");
            }
        });
        join_all(all).await;
    }

    async fn settle_one(
        &self,
        guild: GuildId,
        agent: AgentId,
        intent: Intent,
        channels: &dyn Channels,
    ) -> Result<(), ManagerError> {
        let row = self.deps.store.agent(agent).await?;
        let Some(row) = row.filter(|row| row.guild_id == guild) else {
            return Ok(());
        };
        match intent {
            Intent::Init { .. } => self.finish_init(row, channels).await,
            Intent::Destroy { keep_files } => self.finish_destroy(row, keep_files, channels).await,
            Intent::ChannelName { .. } => {
                self.lifecycle.rename_later(agent, channels).await;
                Ok(())
            }
            Intent::Rename { .. } | Intent::Repair { .. } => Ok(()),
        }
    }

    /// Finishes a creation that a crash interrupted; if that fails, nothing of it is left.
    async fn finish_init(
        &self,
        row: AgentRow,
        channels: &dyn Channels,
    ) -> Result<(), ManagerError> {
        let _alone = self.names.lock(&row.name).await;
        let store = &self.deps.store;
        // It may have changed a moment ago.
        let (Some(_), Some(row)) = (
            store.intent(row.id, IntentKind::Init).await?,
            store.agent(row.id).await?,
        ) else {
            return Ok(());
        };
        if row.status == AgentStatus::Created {
            let name = row.name.clone();
            let creation = self.creator.creation(row).await?;
            let made = self
                .creator
                .carry_out(creation, |template| template, channels);
            return made.await.map(drop).map_err(|error| {
                ManagerError::refused(format!("agent {name} could not be made: {error}"))
            });
        }
        // Only the welcome may be missing.
        if let Some(channel) = row.channel_id
            && channels.newest_message(channel).await == Ok(None)
        {
            self.welcome_again(&row, channels).await?;
        }
        self.directory.settle_intent(row.id, IntentKind::Init).await;
        Ok(())
    }

    async fn welcome_again(
        &self,
        row: &AgentRow,
        channels: &dyn Channels,
    ) -> Result<(), ManagerError> {
        let (Some(agent), Some(channel)) = (self.directory.registry.get(row.id), row.channel_id)
        else {
            return Ok(());
        };
        let folder = self.deps.paths.agent(agent.name.as_str());
        let config = crate::manager::directory::folder::load(folder)
            .await?
            .config;
        let model = self.settings.choice(row.guild_id, config.model.as_deref());
        let made = crate::manager::lifecycle::new_agent::Made::of(
            agent.name,
            channel,
            model,
            config,
            &self.deps.profiles.load(),
        );
        let welcomed = channels.welcome(channel, &made).await;
        Ok(welcomed?)
    }

    /// Deletes the channel of a destroyed agent; folder and row are removed already.
    async fn finish_destroy(
        &self,
        row: AgentRow,
        keep_files: bool,
        channels: &dyn Channels,
    ) -> Result<(), ManagerError> {
        let _alone = self.names.lock(&row.name).await;
        if self.is_settled(row.id, IntentKind::Destroy).await? {
            return Ok(());
        }
        let is_anothers = |channel| self.directory.registry.in_channel(channel).is_some();
        if let Some(channel) = row.channel_id.filter(|channel| !is_anothers(*channel))
            && let Err(reason) = channels.delete(channel).await
        {
            warn!(agent.id = %row.id, "failed to delete the channel of the destroyed agent {}: {reason}", row.name);
        }
        self.destroy_row(row.clone(), keep_files).await?;
        self.directory
            .settle_intent(row.id, IntentKind::Destroy)
            .await;
        info!(agent.id = %row.id, "the destruction of agent {} is finished", row.name);
        Ok(())
    }

    async fn is_settled(&self, agent: AgentId, kind: IntentKind) -> Result<bool, StoreError> {
        let intent = self.deps.store.intent(agent, kind).await?;
        Ok(intent.is_none())
    }
}

/// Whether an agent with this intent counts as destroyed.
fn is_end(intent: &Intent) -> bool {
    matches!(intent, Intent::Destroy { .. })
}
