//! A new agent's folder: made from the template, or an existing one with the files that were kept.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tracing::warn;

use crate::agent::AgentDeps;
use crate::clock;
use crate::domain::{AgentConfig, AgentId, AgentName, ChannelId, ProfileRef};
use crate::manager::directory::Directory;
use crate::manager::directory::folder::{self, Making, is_there, off_thread};
use crate::manager::error::ManagerError;
use crate::manager::lifecycle::bindings::{Bindings, value_of};
use crate::manager::lifecycle::new_agent::{NewAgent, Plan};
use crate::manager::lifecycle::origin::Origin;
use crate::manager::servers::grants::GrantRules;
use crate::permission::may_grant;
use crate::workspace::Bound;
use crate::workspace::template::Template;

/// A folder that existed before its agent.
pub(crate) struct Kept {
    /// The agent's id: the folder's own, unless another agent has it.
    pub(crate) id: AgentId,
    pub(crate) permissions: ProfileRef,
    /// Keys for its `agent.json`.
    pub(crate) keys: Map<String, Value>,
    /// The folder of the machine that it is bound to.
    pub(crate) bound: Option<Bound>,
}

/// Makes and removes the folders of agents.
pub(crate) struct AgentFolders {
    pub(crate) deps: Arc<AgentDeps>,
    pub(crate) directory: Arc<Directory>,
    pub(crate) grants: Arc<GrantRules>,
    pub(crate) template: Template,
    pub(crate) bindings: Arc<Bindings>,
}

impl AgentFolders {
    /// The template's configuration for a new agent.
    pub(crate) fn template_keys(
        &self,
        plan: &Plan,
        new: &NewAgent,
    ) -> impl FnOnce(AgentConfig) -> AgentConfig + Send + 'static {
        let (id, name, prompt) = (plan.id, plan.name.to_string(), plan.prompt.clone());
        let owner = new.by.id;
        let model = plan.model.clone().or_else(|| plan.default_model.clone());
        let profile = plan.profile.clone();
        let workspace = plan.bound.as_ref().map(|bound| bound.path.clone());
        let permissions = profile.unwrap_or_else(|| plan.default_profile.clone());
        move |template| AgentConfig {
            id: Some(id),
            name,
            channel_id: None,
            workspace,
            model: model.or(template.model),
            system_prompt: prompt.unwrap_or(template.system_prompt),
            permissions,
            owner_id: Some(owner),
            created_at: Some(clock::now()),
            running_tasks: Vec::new(),
            ..template
        }
    }

    /// Makes a new folder from the template and from what the agent is made from.
    pub(crate) async fn make_folder(
        &self,
        name: &AgentName,
        origin: Option<Arc<Origin>>,
        bound: Option<Bound>,
        fill: impl FnOnce(AgentConfig) -> AgentConfig + Send + 'static,
    ) -> Result<(), ManagerError> {
        let (agents, folder) = (
            self.deps.paths.agents(),
            self.deps.paths.agent(name.as_str()),
        );
        let (template, name) = (self.template.clone(), name.clone());
        off_thread(move || {
            Making::new(
                &template,
                &agents,
                &name,
                origin.as_deref(),
                bound.as_ref(),
                fill,
            )
            .and_then(|making| making.place(&folder))
            .map_err(|error| ManagerError::Failed(format!("{error}. Nothing was made.")))
        })
        .await
    }

    /// What an existing folder brings along, merged with what is asked for.
    pub(crate) async fn kept_files(
        &self,
        plan: &Plan,
        new: &NewAgent,
    ) -> Result<Option<Kept>, ManagerError> {
        let folder = self.deps.paths.agent(plan.name.as_str());
        if !is_there(&folder).await {
            return Ok(None);
        }
        let kept = folder::load(folder).await?.config;
        self.is_of_this_server(new, &kept).await?;
        if plan.origin.is_some() {
            return Err(ManagerError::refused(format!(
                "The files of an earlier agent `{}` are kept. Choose another name, or leave `from` out to bring that agent back with its files.",
                plan.name
            )));
        }
        let back = "bring it back, or choose another name";
        self.grants
            .may_revive(new.guild, &kept, &new.by, ("The kept files", back))?;
        let permissions = match &plan.profile {
            Some(profile) => profile.clone(),
            None => self.regrant(new, &kept.permissions, &plan.default_profile)?,
        };
        let id = kept
            .id
            .filter(|id| self.directory.registry.get(*id).is_none())
            .unwrap_or(plan.id);
        // A destroyed agent holds no folder, so another one may have got it.
        let bound = match (&plan.bound, &kept.workspace) {
            (Some(bound), _) => Some(bound.clone()),
            (None, Some(folder)) => {
                Some(self.bindings.judge(&folder.to_string_lossy(), None).await?)
            }
            (None, None) => None,
        };
        let now = clock::rfc3339(clock::now());
        let mut keys = Map::new();
        let mut set = |key: &str, value: Value| keys.insert(key.to_owned(), value);
        set("id", json!(id));
        set("name", json!(plan.name));
        set("running_tasks", json!([]));
        set("owner_id", json!(new.by.id));
        set("permissions", json!(permissions));
        if let Some(model) = &plan.model {
            set("model", json!(model));
        }
        if let Some(bound) = &bound {
            set("workspace", value_of(Some(bound)));
        }
        if let Some(prompt) = &plan.prompt {
            set("system_prompt", json!(prompt));
        }
        match kept.created_at {
            Some(_) => set("back_since", json!(now)),
            None => set("created_at", json!(now)),
        };
        Ok(Some(Kept {
            id,
            permissions,
            keys,
            bound,
        }))
    }

    /// Writes an agent's channel into its file; one that existed before also gets `keys`, and parts that it lacks.
    pub(crate) async fn write_channel(
        &self,
        name: &AgentName,
        channel: ChannelId,
        keys: Option<Map<String, Value>>,
        bound: Option<Bound>,
    ) -> Result<AgentConfig, ManagerError> {
        let (folder, name) = (self.deps.paths.agent(name.as_str()), name.clone());
        off_thread(move || {
            if keys.is_some() {
                folder::complete(&folder, &name)?;
            }
            if let Some(keys) = &keys {
                folder::bind(&folder, keys, bound)?;
            }
            let file = folder::rewrite(&folder, |all| {
                all.extend(keys.unwrap_or_default());
                all.insert("channel_id".to_owned(), json!(channel));
            })?;
            Ok(file.config)
        })
        .await
    }

    /// Restores the earlier keys of an `agent.json`.
    pub(crate) async fn put_back(&self, name: &str, keys: Map<String, Value>) {
        let folder = self.deps.paths.agent(name);
        let put = folder::change(folder, |all| *all = keys).await;
        if let Err(error) = put {
            warn!("failed to put back the agent.json of {name}: {error}");
        }
    }

    /// Kept files stay in the server of the agent that left them: nobody else may have its notes and sessions.
    async fn is_of_this_server(
        &self,
        new: &NewAgent,
        kept: &AgentConfig,
    ) -> Result<(), ManagerError> {
        let Some(id) = kept.id else {
            return Ok(());
        };
        match self.deps.store.agent(id).await? {
            Some(row) if row.guild_id != new.guild => Err(ManagerError::refused(
                "Files with this name are kept for an agent of another server. Choose another name.",
            )),
            Some(_) | None => Ok(()),
        }
    }

    /// Kept rights are checked like new ones; where the person may not grant them, the server's default is used.
    fn regrant(
        &self,
        new: &NewAgent,
        kept: &ProfileRef,
        default: &ProfileRef,
    ) -> Result<ProfileRef, ManagerError> {
        if self.deps.profiles.load().resolve(kept).is_err() {
            return Ok(default.clone());
        }
        if self.grants.needs_no_grant(new.guild, kept) {
            return Ok(kept.clone());
        }
        let table = self.grants.grant_table(new.guild);
        may_grant(&table, &new.by, kept).map(|()| kept.clone()).map_err(|reason| {
            ManagerError::refused(format!(
                "The kept files give this agent the profile `{}`, and {reason} Name a `permission_profile` that you may grant.",
                kept.label()
            ))
        })
    }

    /// Removes a folder, for good.
    pub(crate) async fn remove_folder(&self, name: &AgentName) {
        let (agents, folder) = (
            self.deps.paths.agents(),
            self.deps.paths.agent(name.as_str()),
        );
        let of = name.clone();
        let removed = off_thread(move || Ok(folder::remove(&agents, &folder, &of)?));
        if let Err(error) = removed.await {
            warn!("failed to remove the folder of {name}: {error}");
        }
    }
}
