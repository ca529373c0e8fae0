//! `/agent config`: shows one key, or checks, writes and audits it; it is used from the next model call on.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::agent::{AgentDeps, MOST_CORE_AGENTS};
use crate::config::effective::{self, Effective, LOCAL_ONLY};
use crate::config::in_words;
use crate::config::{Key, Right, Unset, ValueKind, agent_keys, is_default};
use crate::domain::{GuildId, Person, ProfileRef, SandboxMode};
use crate::manager::audit::Audit;
use crate::manager::directory::registry::AgentSummary;
use crate::manager::directory::{Directory, folder};
use crate::manager::error::ManagerError;
use crate::manager::lifecycle::Lifecycle;
use crate::manager::lifecycle::bindings::{Bindings, value_of};
use crate::manager::names::NameLocks;
use crate::manager::ports::Channels;
use crate::manager::routing::Routing;
use crate::manager::servers::grants::GrantRules;
use crate::manager::servers::settings::ServerSettings;
use crate::permission::may_always_allow;
use crate::text;

/// The key of `/agent config` that is called `name`.
fn known_key(name: &str) -> Result<&'static Key, ManagerError> {
    let known = agent_keys().find(|key| key.name == name);
    known.ok_or_else(|| unknown_key(name))
}

/// The risk of a value that lets an agent, or people, do more than now.
fn widening(key: &Key, value: &Value, now: &Effective, profile: &ProfileRef) -> Option<String> {
    let risk = match (key.name, value) {
        ("sandbox", Value::String(word)) if word == "off" && now.sandbox != SandboxMode::Off => {
            "its commands will run without a sandbox. They can then read and change everything that the user of Chorus can."
        }
        ("network", Value::Bool(true)) if !now.network => {
            "its commands will reach the network. They can then send out what they read."
        }
        ("permissions", Value::String(word))
            if word == "open" && *profile != ProfileRef::Named("open".to_owned()) =>
        {
            "it will run commands, push and change its own settings without asking."
        }
        ("access_roles", Value::Array(roles))
            if roles.is_empty() && !now.access_roles.is_empty() =>
        {
            "everyone who sees its channel can then talk to it and have it work for them."
        }
        _ => return None,
    };
    Some(risk.to_owned())
}

/// The error for a missing key, with a similar one that may be meant.
fn unknown_key(name: &str) -> ManagerError {
    let known: Vec<&str> = agent_keys().map(|key| key.name).collect();
    let given = text::one_line(name, 60);
    ManagerError::refused(match text::near(name, known.iter().copied()) {
        Some(near) => format!("There is no key `{given}`. Did you mean `{near}`?"),
        None => format!(
            "There is no key `{given}`. The keys are {}.",
            known.join(", ")
        ),
    })
}

/// Shows and changes the configuration of agents.
pub(crate) struct Configurator {
    pub(crate) deps: Arc<AgentDeps>,
    pub(crate) directory: Arc<Directory>,
    pub(crate) audit: Arc<Audit>,
    pub(crate) grants: Arc<GrantRules>,
    pub(crate) settings: Arc<ServerSettings>,
    pub(crate) routing: Arc<Routing>,
    pub(crate) lifecycle: Arc<Lifecycle>,
    pub(crate) names: Arc<NameLocks>,
    pub(crate) bindings: Arc<Bindings>,
}

impl Configurator {
    /// The value of a key as it is on disk.
    ///
    /// # Errors
    ///
    /// When there is no such agent or key, or its file cannot be read.
    pub(crate) async fn config_value(
        &self,
        guild: GuildId,
        name: &str,
        key: &str,
    ) -> Result<String, ManagerError> {
        let agent = self.directory.find(guild, name)?;
        let key = known_key(key)?;
        if key.kind == ValueKind::Charter {
            let text = self.charter_text(&agent).await?;
            return Ok(text.unwrap_or_else(|| "(not set: it works without a role)".to_owned()));
        }
        let folder = self.deps.paths.agent(agent.name.as_str());
        let file = folder::load(folder).await?;
        Ok(match file.raw.get(key.name) {
            None | Some(Value::Null) if key.kind == ValueKind::Folder => {
                "(not set: its own folder)".to_owned()
            }
            None | Some(Value::Null) => "(not set: the server's value)".to_owned(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => serde_json::to_string_pretty(other).unwrap_or_default(),
        })
    }

    /// Says in a sentence what setting a key to this value would widen; `None` where it widens nothing, or `by` may not set it.
    pub(crate) async fn risk(
        &self,
        guild: GuildId,
        name: &str,
        key: &str,
        value: &str,
        by: &Person,
    ) -> Option<String> {
        let key = known_key(key).ok()?;
        let agent = self.directory.find(guild, name).ok()?;
        self.grants.may_set(&agent, key, by).await.ok()?;
        let value = key.kind.read(value).ok()?;
        if key.kind == ValueKind::Profile {
            self.grants.grantable(guild, value.as_str()?, by).ok()?;
        }
        let folder = self.deps.paths.agent(agent.name.as_str());
        let config = folder::load(folder).await.ok()?.config;
        let settings = self.deps.settings_of(guild);
        let now = effective::agent(&config, &settings, &self.deps.config.load());
        widening(key, &value, &now, &config.permissions)
            .map(|risk| format!("`{}`: {risk}", agent.name))
    }

    /// Sets a key.
    ///
    /// # Errors
    ///
    /// A sentence that says what the value must be, or who may set it.
    pub(crate) async fn configure(
        &self,
        guild: GuildId,
        name: &str,
        key: &str,
        value: &str,
        by: &Person,
        channels: &dyn Channels,
    ) -> Result<String, ManagerError> {
        let key = known_key(key)?;
        let agent = self.directory.find(guild, name)?;
        if let Err(refusal) = self.grants.may_set(&agent, key, by).await {
            self.audit.audit_refused(&agent, key, by, &refusal).await?;
            return Err(refusal);
        }
        if key.kind == ValueKind::Name {
            return self
                .lifecycle
                .rename(guild, name, value, by, channels)
                .await;
        }
        let _alone = self.names.lock(name).await;
        let agent = self.directory.find(guild, name)?;
        if key.kind == ValueKind::Charter {
            return self.set_charter(&agent, key, value, by).await;
        }
        if key.kind == ValueKind::Folder {
            return self.set_folder(&agent, key, value, by).await;
        }
        if key.kind == ValueKind::Actions
            && let Some(named) = value.trim().strip_prefix("remove ")
        {
            return self.take_named_back(&agent, by, named.trim()).await;
        }
        let checked = match self.checked(&agent, key, value, by).await {
            Ok(checked) => checked,
            Err(refusal) => {
                if key.agent == Some(Right::ForValue) {
                    self.audit.audit_refused(&agent, key, by, &refusal).await?;
                }
                return Err(refusal);
            }
        };
        let path = self.deps.paths.agent(agent.name.as_str());
        let old = folder::load(path.clone()).await?.raw.get(key.name).cloned();
        let row = self
            .audit
            .edit_row(&agent, key, &old.unwrap_or_default(), &checked, by);
        self.audit
            .audited(row, async {
                let value = checked.clone();
                let written = folder::change(path, move |keys| {
                    keys.insert(key.name.to_owned(), value);
                });
                let file = written.await?;
                self.directory.index(&agent, &file.config).await
            })
            .await?;
        let mut told = format!(
            "{} of `{}` is now {}. It applies from the next request.",
            in_words::label(key),
            agent.name,
            in_words::value(key, &checked)
        );
        if key.name == "core" {
            let read = self.directory.configuration(&agent).await;
            self.routing.get_ready(&agent, &read).await;
            let is_core = self.deps.configurations.core.has(agent.id);
            if checked == Value::Bool(true) && !is_core {
                told.push_str(&format!(
                    " {MOST_CORE_AGENTS} other agents are already `core`; this one waits until one of them is removed."
                ));
            }
        }
        Ok(told)
    }

    /// Binds the agent to a folder of the machine, or to its own again.
    async fn set_folder(
        &self,
        agent: &AgentSummary,
        key: &Key,
        text: &str,
        by: &Person,
    ) -> Result<String, ManagerError> {
        let _binding = self.bindings.alone().await;
        let path = self.deps.paths.agent(agent.name.as_str());
        let old = folder::load(path).await?.raw.get(key.name).cloned();
        let judged = match self.unset(agent.guild, key, text) {
            Some(_) => Ok(None),
            None => {
                key.kind.read(text)?;
                let judged = self.bindings.judge(text.trim(), Some(agent.id)).await;
                judged.map(Some)
            }
        };
        let bound = match judged {
            Ok(bound) => bound,
            Err(refusal) => {
                self.audit.audit_refused(agent, key, by, &refusal).await?;
                return Err(refusal);
            }
        };
        let value = value_of(bound.as_ref());
        let row = self
            .audit
            .edit_row(agent, key, &old.unwrap_or_default(), &value, by);
        self.audit
            .audited(row, async {
                let config = self.bindings.bind(agent, bound).await?;
                self.directory.index(agent, &config).await
            })
            .await?;
        let stays = match value {
            Value::Null => "It works in its own folder now; the previous folder is kept.",
            _ => "It works there now; its own folder is kept.",
        };
        Ok(format!(
            "{} of `{}` is now {}. {stays} It applies from the next request.",
            in_words::label(key),
            agent.name,
            in_words::value(key, &value)
        ))
    }

    /// The value as `agent.json` holds it.
    async fn checked(
        &self,
        agent: &AgentSummary,
        key: &Key,
        text: &str,
        by: &Person,
    ) -> Result<Value, ManagerError> {
        let guild = agent.guild;
        let unset = self.unset(guild, key, text);
        let lifts = |value: &Value| key.name == LOCAL_ONLY.name && *value != Value::Bool(true);
        if let Some(unset) = unset {
            if lifts(&unset) {
                self.grants.may_grant_open(guild, key, by)?;
            }
            return Ok(unset);
        }
        let value = key.kind.read(text)?;
        if lifts(&value) {
            self.grants.may_grant_open(guild, key, by)?;
        }
        match (key.kind, &value) {
            (ValueKind::RoleNames, Value::Array(names)) => {
                for name in names.iter().filter_map(Value::as_str) {
                    self.directory.callable(agent, name).await?;
                }
                Ok(value)
            }
            (ValueKind::Advisors { .. } | ValueKind::Handoff { .. } | ValueKind::Router, _) => {
                self.directory.can_pass_through(agent, &value).await?;
                Ok(value)
            }
            (ValueKind::Model, Value::String(name)) => {
                Ok(Value::from(self.settings.known_model(name).await?))
            }
            (ValueKind::Models, Value::Array(names)) => {
                let mut models = Vec::new();
                for name in names.iter().filter_map(Value::as_str) {
                    models.push(self.settings.known_model(name).await?);
                }
                Ok(json!(models))
            }
            (ValueKind::Profile, _) => Ok(serde_json::to_value(
                self.grants.grantable(guild, text, by)?,
            )
            .unwrap_or_default()),
            // Further allow entries widen what an agent may do, as a custom profile would.
            (ValueKind::Actions, Value::Array(actions)) if !actions.is_empty() => {
                may_always_allow(&self.grants.grant_table(guild), by)?;
                Ok(value)
            }
            _ => Ok(value),
        }
    }

    /// The value to write if `text` asks to unset the key.
    fn unset(&self, guild: GuildId, key: &Key, text: &str) -> Option<Value> {
        let is_value = key
            .kind
            .offered()
            .contains(&text.trim().to_ascii_lowercase().as_str());
        if !is_default(text) || is_value {
            return None;
        }
        match key.unset {
            Unset::Refused => None,
            Unset::Inherited => Some(Value::Null),
            Unset::Empty => Some(json!([])),
            Unset::Off => Some(Value::Bool(false)),
            Unset::DefaultProfile => self.unset_profile(guild, text),
        }
    }

    /// The profile of new agents, if `text` is `default` and no profile of the operator's has that name. Other words that
    /// usually unset a key do not here: `none` may mean that nothing is permitted.
    fn unset_profile(&self, guild: GuildId, text: &str) -> Option<Value> {
        let word = text.trim().to_ascii_lowercase();
        let named = ProfileRef::Named(word.clone());
        let is_named = self.deps.profiles.load().resolve(&named).is_ok();
        (word == "default" && !is_named)
            .then(|| Value::from(self.settings.server(guild).default_permissions))
    }
}
