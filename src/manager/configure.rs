//! `/agent config`: one key shown, or checked, written, audited, and in force at the next model call.

use serde_json::{Value, json};

use crate::clock;
use crate::domain::{AgentConfig, AgentStatus, GuildId, Person};
use crate::permission::may_always_allow;
use crate::store::{AgentRow, Registered};
use crate::text;

use super::config_keys::{
    UNSET, dollars, known_key, on_or_off, roles, seconds, shown, unknown_key,
};
use super::error::ManagerError;
use super::folder;
use super::handle::AgentManager;
use super::ports::Channels;
use super::registry::AgentSummary;

/// Bytes of a system prompt.
const PROMPT_MAX: usize = 64 << 10;

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
        let file = folder::read(&self.inner.deps.paths.agent(agent.name.as_str()))?;
        Ok(match file.raw.get(key) {
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
        if let Err(refusal) = self.may_set(&agent, key, by) {
            self.audit_refused(&agent, key, by, &refusal).await?;
            return Err(refusal);
        }
        if key == "name" {
            return self.rename(guild, name, value, by, channels).await;
        }
        let _alone = self.inner.names.lock(name).await;
        let agent = self.find(guild, name)?;
        if key == "always_allow"
            && let Some(named) = value.trim().strip_prefix("remove ")
        {
            return self.take_named_back(&agent, by, named.trim()).await;
        }
        let checked = match self.checked(guild, key, value, by).await {
            Ok(checked) => checked,
            Err(refusal) => {
                if matches!(key, "permissions" | "always_allow") {
                    self.audit_refused(&agent, key, by, &refusal).await?;
                }
                return Err(refusal);
            }
        };
        let path = self.inner.deps.paths.agent(agent.name.as_str());
        let old = folder::read(&path)?.raw.get(key).cloned();
        let row = self.edit_row(&agent, key, &old.unwrap_or_default(), &checked, by);
        self.audited(row, async {
            let file = folder::rewrite(&path, |keys| {
                keys.insert(key.to_owned(), checked.clone());
            })?;
            self.index(&agent, &file.config).await
        })
        .await?;
        Ok(format!(
            "`{}.{key}` is now {}. It is in force at the next model call.",
            agent.name,
            shown(&checked)
        ))
    }

    /// The value as `agent.json` holds it.
    async fn checked(
        &self,
        guild: GuildId,
        key: &str,
        value: &str,
        by: &Person,
    ) -> Result<Value, ManagerError> {
        let value = value.trim();
        let unset = UNSET.contains(&value.to_ascii_lowercase().as_str());
        Ok(match key {
            "system_prompt" if value.is_empty() => {
                return Err(ManagerError::refused("A system prompt cannot be empty."));
            }
            "system_prompt" if value.len() > PROMPT_MAX => {
                return Err(ManagerError::refused(format!(
                    "A system prompt has at most {}.",
                    text::bytes(PROMPT_MAX as u64)
                )));
            }
            "system_prompt" => Value::from(value),
            "model" if unset => Value::Null,
            "model" => Value::from(self.known_model(value).await?),
            "fallback_models" if unset => json!([]),
            "fallback_models" => {
                let mut models = Vec::new();
                for name in value
                    .split(',')
                    .map(str::trim)
                    .filter(|name| !name.is_empty())
                {
                    models.push(self.known_model(name).await?);
                }
                json!(models)
            }
            "permissions" => {
                serde_json::to_value(self.grantable(guild, value, by)?).unwrap_or_default()
            }
            "idle_timeout" | "turn_timeout" | "sandbox" | "network" | "access_roles" if unset => {
                Value::Null
            }
            "budget_turn" | "budget_day" if unset => Value::Null,
            "idle_timeout" => json!(seconds(value, true)?),
            "turn_timeout" => json!(seconds(value, false)?),
            "web_search" | "network" => json!(on_or_off(value)?),
            "sandbox" => match value {
                "required" | "auto" | "off" => Value::from(value),
                _ => {
                    return Err(ManagerError::refused(
                        "`sandbox` is `required`, `auto` or `off`.",
                    ));
                }
            },
            "access_roles" => roles(value)?,
            "always_allow" => self.always_allow_list(guild, value, by)?,
            "budget_turn" | "budget_day" => json!(dollars(value)?),
            _ => return Err(unknown_key(key)),
        })
    }

    /// Further allow entries widen what an agent may do, as a profile of one's own would.
    fn always_allow_list(
        &self,
        guild: GuildId,
        value: &str,
        by: &Person,
    ) -> Result<Value, ManagerError> {
        if UNSET.contains(&value) || value == "[]" {
            return Ok(json!([]));
        }
        let list: Vec<String> = serde_json::from_str(value).map_err(|error| {
            ManagerError::refused(format!(
                "`always_allow` is a JSON list of action strings: {error}."
            ))
        })?;
        may_always_allow(&self.grant_table(guild), by)?;
        Ok(json!(list))
    }

    /// Writes the agent's row again from its configuration.
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
