//! `/agent init`: everything checked first, then made step by step, each step undone if a later one fails.

use std::sync::Arc;

use serde_json::Value;
use tracing::{info, warn};

use crate::agent::event::Event;
use crate::agent::{Asker, Caps, Spender, refine};
use crate::clock;
use crate::config::effective;
use crate::domain::{
    AgentConfig, AgentId, AgentName, AgentStatus, ChannelId, GuildId, Person, ProfileRef,
};
use crate::permission::may_grant;
use crate::store::{AgentRow, Registered};
use crate::text;

use super::folder::{self, Making};
use super::{AgentManager, AgentSummary, Channels, ManagerError};

/// Characters of a channel's topic that Discord takes.
const TOPIC: usize = 1024;

/// What a person asks for.
#[derive(Clone, Debug)]
pub struct NewAgent {
    /// The name as typed.
    pub name: String,
    /// The prompt, or the description it is made from.
    pub system_prompt: Option<String>,
    /// Whether a small model makes a prompt of the description.
    pub refine: Refine,
    /// Model to ask first.
    pub model: Option<String>,
    /// Name of a profile, or one as JSON.
    pub permission_profile: Option<String>,
    /// Who asks.
    pub by: Person,
    /// In which server.
    pub guild: GuildId,
}

/// What is done with the text given as a prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Refine {
    /// It is the prompt, to the letter.
    #[default]
    Keep,
    /// A small model makes a prompt of it, where one can be asked.
    Tailor,
}

/// A new agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// Its name.
    pub name: AgentName,
    /// Its channel.
    pub channel: ChannelId,
    /// Model it asks first; none while the server has no default.
    pub model: Option<String>,
    /// Its permission profile, or `custom`.
    pub profile: String,
    /// Its instructions.
    pub system_prompt: String,
    /// It came back with the files it had.
    pub kept_files: bool,
    /// What else the caller should know, a sentence each.
    pub notes: Vec<String>,
}

/// What was checked and decided before anything is made.
struct Plan {
    /// Its id, unless the folder has one.
    id: AgentId,
    name: AgentName,
    model: Option<String>,
    profile: Option<ProfileRef>,
    default_profile: ProfileRef,
    default_model: Option<String>,
    prompt: Option<String>,
}

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

    /// Makes the folder, or takes over the one that is there.
    async fn make_folder(
        &self,
        plan: &Plan,
        new: &NewAgent,
    ) -> Result<(AgentConfig, bool), ManagerError> {
        let folder = self.inner.parts.paths.agent(plan.name.as_str());
        match folder.exists() {
            true => self.take_over(plan, new).await.map(|config| (config, true)),
            false => self.make_new(plan, new).await.map(|config| (config, false)),
        }
    }

    async fn make_new(&self, plan: &Plan, new: &NewAgent) -> Result<AgentConfig, ManagerError> {
        let (agents, folder) = (
            self.inner.parts.paths.agents(),
            self.inner.parts.paths.agent(plan.name.as_str()),
        );
        let (template, name) = (self.inner.template.clone(), plan.name.clone());
        let (prompt, owner) = (plan.prompt.clone(), new.by.id);
        let (id, model) = (
            plan.id,
            plan.model.clone().or_else(|| plan.default_model.clone()),
        );
        let profile = plan
            .profile
            .clone()
            .unwrap_or_else(|| plan.default_profile.clone());
        let made = tokio::task::spawn_blocking(move || -> Result<AgentConfig, String> {
            let making = Making::new(&template, &agents, &name, |template| AgentConfig {
                id: Some(id),
                name: name.to_string(),
                channel_id: None,
                model: model.or(template.model),
                system_prompt: prompt.unwrap_or(template.system_prompt),
                permissions: profile,
                owner_id: Some(owner),
                created_at: Some(clock::now()),
                running_tasks: Vec::new(),
                ..template
            })?;
            making.place(&folder)?;
            folder::read(&folder)
                .map(|file| file.config)
                .map_err(|error| error.to_string())
        });
        made.await
            .unwrap_or_else(|error| Err(error.to_string()))
            .map_err(|error| ManagerError::Failed(format!("{error}. Nothing was made.")))
    }

    /// Merges what the person asks for into a folder that was kept (or that nobody knows).
    async fn take_over(&self, plan: &Plan, new: &NewAgent) -> Result<AgentConfig, ManagerError> {
        let folder = self.inner.parts.paths.agent(plan.name.as_str());
        let kept = folder::read(&folder)?.config;
        let permissions = match &plan.profile {
            Some(profile) => profile.clone(),
            None => self.regrant(new, &kept.permissions, &plan.default_profile)?,
        };
        let id = kept
            .id
            .filter(|id| self.inner.roster.get(*id).is_none())
            .unwrap_or(plan.id);
        let (name, model, prompt, owner) = (
            plan.name.clone(),
            plan.model.clone(),
            plan.prompt.clone(),
            new.by.id,
        );
        let changed = tokio::task::spawn_blocking(move || -> Result<AgentConfig, ManagerError> {
            folder::complete(&folder, &name).map_err(ManagerError::Failed)?;
            let file = folder::rewrite(&folder, |keys| {
                keys.insert("id".to_owned(), Value::String(id.to_string()));
                keys.insert("name".to_owned(), Value::String(name.to_string()));
                keys.insert("channel_id".to_owned(), Value::Null);
                keys.insert("running_tasks".to_owned(), Value::Array(Vec::new()));
                keys.insert("owner_id".to_owned(), Value::from(owner.0));
                keys.insert(
                    "permissions".to_owned(),
                    serde_json::to_value(&permissions).unwrap_or_default(),
                );
                if let Some(model) = model {
                    keys.insert("model".to_owned(), Value::String(model));
                }
                if let Some(prompt) = prompt {
                    keys.insert("system_prompt".to_owned(), Value::String(prompt));
                }
                if !keys.get("created_at").is_some_and(Value::is_string) {
                    keys.insert(
                        "created_at".to_owned(),
                        Value::String(clock::rfc3339(clock::now())),
                    );
                }
            })?;
            Ok(file.config)
        });
        changed
            .await
            .unwrap_or_else(|error| Err(ManagerError::Failed(error.to_string())))
    }

    /// Kept rights pass the grants check again; who may not grant them gets the server's default.
    fn regrant(
        &self,
        new: &NewAgent,
        kept: &ProfileRef,
        default: &ProfileRef,
    ) -> Result<ProfileRef, ManagerError> {
        if self.inner.parts.profiles.load().resolve(kept).is_err() {
            return Ok(default.clone());
        }
        if self.needs_no_grant(new.guild, kept) {
            return Ok(kept.clone());
        }
        let table = self.grant_table(new.guild);
        may_grant(&table, &new.by, kept).map(|()| kept.clone()).map_err(|reason| {
            ManagerError::refused(format!(
                "The kept files give this agent the profile `{}`, and {reason} Name a `permission_profile` that you may grant.",
                kept.label()
            ))
        })
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

    pub(super) async fn remove_folder(&self, name: &AgentName) {
        let (agents, folder) = (
            self.inner.parts.paths.agents(),
            self.inner.parts.paths.agent(name.as_str()),
        );
        let of = name.clone();
        let removed =
            tokio::task::spawn_blocking(move || folder::remove(&agents, &folder, &of)).await;
        match removed {
            Ok(Ok(())) => {}
            Ok(Err(error)) => warn!("the folder of {name} could not be removed: {error}"),
            Err(error) => warn!("the folder of {name} could not be removed: {error}"),
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
