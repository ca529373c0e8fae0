//! `/agent init`: everything checked first, then made step by step, each step undone if a later one fails.

use std::sync::Arc;

use serde_json::Value;
use tracing::{info, warn};

use crate::agent::event::Event;
use crate::agent::{Asker, Caps, Spender, refine};
use crate::clock;
use crate::config::effective;
use crate::domain::{AgentConfig, AgentId, AgentName, AgentStatus, GuildId, ProfileRef};
use crate::store::{AgentRow, Registered};
use crate::text;

use super::error::ManagerError;
use super::folder;
use super::handle::AgentManager;
use super::new_agent::{Made, NewAgent, Plan, Refine};
use super::ports::Channels;
use super::roster::AgentSummary;

/// Characters of a channel's topic that Discord takes.
const TOPIC: usize = 1024;

impl AgentManager {
    /// Makes an agent with folder, row and channel; a failure leaves none of them.
    ///
    /// # Errors
    ///
    /// A sentence with the reason and the way out.
    pub async fn init(&self, new: NewAgent, channels: &dyn Channels) -> Result<Made, ManagerError> {
        let _alone = self.inner.lifecycle.lock().await;
        let plan = self.plan(&new).await?;
        channels
            .can_create(new.guild)
            .await
            .map_err(ManagerError::Refused)?;
        let (config, kept_files) = self.make_folder(&plan, &new).await?;
        let made = self
            .register(&plan, &new, config, kept_files, channels)
            .await;
        if made.is_err() && !kept_files {
            self.remove_folder(&plan.name).await;
        }
        made
    }

    /// Checks everything that can be checked before the first step.
    async fn plan(&self, new: &NewAgent) -> Result<Plan, ManagerError> {
        let name = AgentName::parse(&new.name).map_err(|error| {
            ManagerError::refused(format!(
                "`{}` cannot be a name: {error}.",
                text::one_line(&new.name, 60)
            ))
        })?;
        if let Some(taken) = self.inner.roster.named(name.as_str()) {
            match taken.status {
                AgentStatus::Created => self.undo_half_made(&taken).await?,
                AgentStatus::Active | AgentStatus::Destroyed => {
                    return Err(ManagerError::refused(format!(
                        "There is an agent `{name}` already. Choose another name, or destroy it first with `/agent destroy {name}`."
                    )));
                }
            }
        }
        let server = effective::server(
            &self.inner.parts.settings_of(new.guild),
            &self.inner.parts.config.load(),
        );
        let model = match &new.model {
            Some(model) => Some(self.known_model(model).await?),
            None => None,
        };
        let profile = match &new.permission_profile {
            Some(text) => Some(self.grantable(new.guild, text, &new.by)?),
            None => None,
        };
        let id = AgentId::random();
        let prompt = match (&new.system_prompt, new.refine) {
            (Some(description), Refine::Tailor) => Some(
                refine::tailor(
                    &self.inner.parts,
                    self.asker(id, new.guild),
                    &name,
                    description,
                )
                .await,
            ),
            (given, _) => given.clone(),
        };
        Ok(Plan {
            id,
            name,
            model,
            profile,
            default_profile: ProfileRef::Named(server.default_permissions),
            default_model: server.default_model,
            prompt,
        })
    }

    /// An agent that is not there yet: its server pays.
    fn asker(&self, agent: AgentId, guild: GuildId) -> Asker {
        let month = self.inner.parts.config.load().budgets.month;
        Asker {
            spender: Spender {
                agent,
                guild,
                turn: None,
            },
            caps: Caps {
                month: month.map(|usd| usd.get()),
                ..Caps::default()
            },
        }
    }

    /// Row, channel, welcome: each undone when a later one fails.
    async fn register(
        &self,
        plan: &Plan,
        new: &NewAgent,
        config: AgentConfig,
        kept_files: bool,
        channels: &dyn Channels,
    ) -> Result<Made, ManagerError> {
        let mut row = AgentRow {
            id: config.id.unwrap_or_else(AgentId::random),
            name: plan.name.to_string(),
            guild_id: new.guild,
            channel_id: None,
            model: config.model.clone(),
            permissions: config.permissions.clone(),
            owner_id: config.owner_id,
            created_at: config.created_at.unwrap_or_else(clock::now),
            status: AgentStatus::Created,
        };
        let store = &self.inner.parts.store;
        if store.insert_agent(row.clone()).await? != Registered::Done {
            return Err(ManagerError::refused(format!(
                "There is an agent `{}` already.",
                plan.name
            )));
        }
        let topic = text::one_line(
            config.system_prompt.lines().next().unwrap_or_default(),
            TOPIC,
        );
        let channel = match channels.create(new.guild, plan.name.as_str(), &topic).await {
            Ok(channel) => channel,
            Err(reason) => {
                self.unregister(&row).await;
                return Err(ManagerError::Refused(reason));
            }
        };
        row.channel_id = Some(channel);
        row.status = AgentStatus::Active;
        let folder = self.inner.parts.paths.agent(plan.name.as_str());
        let written = folder::rewrite(&folder, |keys| {
            keys.insert("channel_id".to_owned(), Value::from(channel.0));
        });
        let stored = match written {
            Ok(_) => store
                .update_agent(row.clone())
                .await
                .map_err(ManagerError::from),
            Err(error) => Err(error),
        };
        match stored {
            Ok(Registered::Done) => {}
            Ok(_) | Err(_) => {
                if let Err(reason) = channels.delete(channel).await {
                    warn!("the channel of an agent that could not be made stays: {reason}");
                }
                self.unregister(&row).await;
                return Err(stored.err().unwrap_or_else(|| {
                    ManagerError::refused("The new channel belongs to another agent.")
                }));
            }
        }
        self.inner.roster.put(AgentSummary {
            id: row.id,
            name: plan.name.clone(),
            guild: new.guild,
            channel: Some(channel),
            status: AgentStatus::Active,
        });
        self.inner.parts.emit(Event::Bound(new.guild, channel));
        let mut made = Made {
            name: plan.name.clone(),
            channel,
            model: config.model,
            profile: config.permissions.label().to_owned(),
            system_prompt: config.system_prompt,
            kept_files,
            notes: Vec::new(),
        };
        if let Err(reason) = channels.welcome(channel, &made).await {
            made.notes
                .push(format!("The welcome message could not be posted: {reason}"));
        }
        info!(agent.id = %row.id, "agent {} was made", plan.name);
        Ok(made)
    }

    /// Takes back what a crash left of a creation: its row; its folder is then taken over like kept files.
    async fn undo_half_made(&self, half: &AgentSummary) -> Result<(), ManagerError> {
        self.inner.parts.store.delete_agent(half.id).await?;
        self.inner.roster.remove(half.id);
        Ok(())
    }

    async fn unregister(&self, row: &AgentRow) {
        if let Err(error) = self.inner.parts.store.delete_agent(row.id).await {
            warn!(
                "the row of an agent that could not be made stays, `/agent init` takes it up again: {error}"
            );
        }
    }

    /// The id of a model that a person named, short names included.
    pub(super) async fn known_model(&self, name: &str) -> Result<String, ManagerError> {
        Arc::clone(&self.inner.parts.models)
            .resolve(name)
            .await
            .map_err(ManagerError::Refused)
    }
}
