//! `/agent config`: shows one key, or checks, writes and audits it; it is used from the next model call on.

use serde_json::{Value, json};

use crate::agent::MOST_CORE_AGENTS;
use crate::clock;
use crate::config::{Key, Right, Unset, ValueKind, agent_keys, is_default};
use crate::domain::{AgentConfig, AgentStatus, GuildId, Person, ProfileRef};
use crate::permission::may_always_allow;
use crate::store::{AgentRow, Registered};
use crate::text;

use super::AgentManager;
use super::audit::shown;
use super::error::ManagerError;
use super::folder;
use super::ports::Channels;
use super::registry::AgentSummary;

/// The key of `/agent config` that is called `name`.
fn known_key(name: &str) -> Result<&'static Key, ManagerError> {
    let known = agent_keys().find(|key| key.name == name);
    known.ok_or_else(|| unknown_key(name))
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

impl AgentManager {
    /// The value of a key as it is on disk.
    ///
    /// # Errors
    ///
    /// When there is no such agent or key, or its file cannot be read.
    pub async fn config_value(
        &self,
        guild: GuildId,
        name: &str,
        key: &str,
    ) -> Result<String, ManagerError> {
        let agent = self.find(guild, name)?;
        let key = known_key(key)?;
        if key.kind == ValueKind::Charter {
            let text = self.charter_text(&agent).await?;
            return Ok(text.unwrap_or_else(|| "(not set: it works without a role)".to_owned()));
        }
        let folder = self.inner.deps.paths.agent(agent.name.as_str());
        let file = folder::load(folder).await?;
        Ok(match file.raw.get(key.name) {
            None | Some(Value::Null) => "(not set: the server's value)".to_owned(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => serde_json::to_string_pretty(other).unwrap_or_default(),
        })
    }

    /// Sets a key.
    ///
    /// # Errors
    ///
    /// A sentence that says what the value must be, or who may set it.
    pub async fn configure(
        &self,
        guild: GuildId,
        name: &str,
        key: &str,
        value: &str,
        by: &Person,
        channels: &dyn Channels,
    ) -> Result<String, ManagerError> {
        let key = known_key(key)?;
        let agent = self.find(guild, name)?;
        if let Err(refusal) = self.may_set(&agent, key, by).await {
            self.audit_refused(&agent, key, by, &refusal).await?;
            return Err(refusal);
        }
        if key.kind == ValueKind::Name {
            return self.rename(guild, name, value, by, channels).await;
        }
        let _alone = self.inner.names.lock(name).await;
        let agent = self.find(guild, name)?;
        if key.kind == ValueKind::Charter {
            return self.set_charter(&agent, key, value, by).await;
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
                    self.audit_refused(&agent, key, by, &refusal).await?;
                }
                return Err(refusal);
            }
        };
        let path = self.inner.deps.paths.agent(agent.name.as_str());
        let old = folder::load(path.clone()).await?.raw.get(key.name).cloned();
        let row = self.edit_row(&agent, key, &old.unwrap_or_default(), &checked, by);
        self.audited(row, async {
            let value = checked.clone();
            let written = folder::change(path, move |keys| {
                keys.insert(key.name.to_owned(), value);
            });
            let file = written.await?;
            self.index(&agent, &file.config).await
        })
        .await?;
        let mut told = format!(
            "`{}.{key}` is now {}. It applies from the next request.",
            agent.name,
            shown(&checked)
        );
        if key.name == "core" {
            let read = self.configuration(&agent).await;
            self.get_ready(&agent, &read).await;
            let is_core = self.inner.deps.configurations.core.has(agent.id);
            if checked == Value::Bool(true) && !is_core {
                told.push_str(&format!(
                    " {MOST_CORE_AGENTS} other agents go first already, so it stays an ordinary one until one of them does not."
                ));
            }
        }
        Ok(told)
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
        if let Some(unset) = self.unset(guild, key, text) {
            return Ok(unset);
        }
        let value = key.kind.read(text)?;
        match (key.kind, &value) {
            (ValueKind::RoleNames, Value::Array(names)) => {
                for name in names.iter().filter_map(Value::as_str) {
                    self.callable(agent, name).await?;
                }
                Ok(value)
            }
            (ValueKind::Advisors { .. } | ValueKind::Handoff { .. } | ValueKind::Router, _) => {
                self.can_pass_through(agent, &value).await?;
                Ok(value)
            }
            (ValueKind::Model, Value::String(name)) => {
                Ok(Value::from(self.known_model(name).await?))
            }
            (ValueKind::Models, Value::Array(names)) => {
                let mut models = Vec::new();
                for name in names.iter().filter_map(Value::as_str) {
                    models.push(self.known_model(name).await?);
                }
                Ok(json!(models))
            }
            (ValueKind::Profile, _) => {
                Ok(serde_json::to_value(self.grantable(guild, text, by)?).unwrap_or_default())
            }
            // Further allow entries widen what an agent may do, as a custom profile would.
            (ValueKind::Actions, Value::Array(actions)) if !actions.is_empty() => {
                may_always_allow(&self.grant_table(guild), by)?;
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
        let is_named = self.inner.deps.profiles.load().resolve(&named).is_ok();
        (word == "default" && !is_named)
            .then(|| Value::from(self.server(guild).default_permissions))
    }

    /// Updates the agent's row from its configuration.
    pub(super) async fn index(
        &self,
        agent: &AgentSummary,
        config: &AgentConfig,
    ) -> Result<(), ManagerError> {
        let row = Self::row_of(agent, config);
        match self.inner.deps.store.update_agent(row).await? {
            Registered::Done => Ok(()),
            Registered::NameTaken | Registered::ChannelTaken => Err(ManagerError::refused(
                "Another agent has that name or channel.",
            )),
        }
    }

    /// The row of an agent with this configuration.
    pub(super) fn row_of(agent: &AgentSummary, config: &AgentConfig) -> AgentRow {
        AgentRow {
            id: agent.id,
            name: agent.name.to_string(),
            guild_id: agent.guild,
            channel_id: agent.channel,
            model: config.model.clone(),
            permissions: config.permissions.clone(),
            owner_id: config.owner_id,
            created_at: config.created_at.unwrap_or_else(clock::now),
            back_since: config.back_since,
            status: AgentStatus::Active,
        }
    }
}
