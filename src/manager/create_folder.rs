//! A new agent's folder: made from the template, or taken over with the files that were kept.

use serde_json::Value;
use tracing::warn;

use crate::clock;
use crate::domain::{AgentConfig, AgentName, ProfileRef};
use crate::permission::may_grant;

use super::error::ManagerError;
use super::folder::{self, Making};
use super::handle::AgentManager;
use super::new_agent::{NewAgent, Plan};

impl AgentManager {
    /// Makes the folder, or takes over the one that is there.
    pub(super) async fn make_folder(
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
        self.is_of_this_server(new, &kept).await?;
        self.may_revive(new.guild, &kept, &new.by)?;
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

    /// Kept files stay in the server of the agent that left them: its notes and sessions are nobody else's.
    async fn is_of_this_server(
        &self,
        new: &NewAgent,
        kept: &AgentConfig,
    ) -> Result<(), ManagerError> {
        let Some(id) = kept.id else {
            return Ok(());
        };
        match self.inner.parts.store.agent(id).await? {
            Some(row) if row.guild_id != new.guild => Err(ManagerError::refused(
                "The kept files of this name belong to an agent of another server. Choose another name.",
            )),
            Some(_) | None => Ok(()),
        }
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

    /// Removes a folder, for good.
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
}
