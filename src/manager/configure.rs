//! `/agent config`: one key shown, or checked, written, audited, and in force at the next model call.

use serde_json::{Value, json};

use crate::clock;
use crate::domain::{AgentConfig, AgentName, AgentStatus, GuildId, Person, ProfileRef};
use crate::permission::{GrantTable, may_grant};
use crate::store::{AgentRow, AuditRow};
use crate::text;

use super::{AgentManager, AgentSummary, Channels, ManagerError, folder};

/// Keys that `/agent config` knows, in the order they are offered.
pub const CONFIG_KEYS: [&str; 14] = [
    "system_prompt",
    "model",
    "permissions",
    "name",
    "idle_timeout",
    "web_search",
    "fallback_models",
    "always_allow",
    "turn_timeout",
    "sandbox",
    "network",
    "access_roles",
    "budget_turn",
    "budget_day",
];

/// Words that take a value back to the server's.
const UNSET: [&str; 3] = ["default", "none", "null"];

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
        let file = folder::read(&self.inner.parts.paths.agent(agent.name.as_str()))?;
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
        let _alone = self.inner.lifecycle.lock().await;
        let agent = self.find(guild, name)?;
        let key = known_key(key)?;
        if key == "name" {
            return self.rename(&agent, value, by, channels).await;
        }
        let checked = self.checked(guild, key, value, by).await?;
        let path = self.inner.parts.paths.agent(agent.name.as_str());
        let mut old = Value::Null;
        let file = folder::rewrite(&path, |keys| {
            old = keys
                .insert(key.to_owned(), checked.clone())
                .unwrap_or_default();
        })?;
        self.index(&agent, &file.config).await?;
        self.audit_edit(&agent, key, &old, &checked, by).await?;
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

    /// A profile that `by` may give an agent.
    pub(super) fn grantable(
        &self,
        guild: GuildId,
        text: &str,
        by: &Person,
    ) -> Result<ProfileRef, ManagerError> {
        let profile: ProfileRef = match text.trim_start().starts_with('{') {
            true => serde_json::from_str(text)
                .map(ProfileRef::Custom)
                .map_err(|error| {
                    ManagerError::refused(format!("The profile is not valid JSON: {error}."))
                })?,
            false => ProfileRef::Named(text.trim().to_owned()),
        };
        self.inner
            .parts
            .profiles
            .load()
            .resolve(&profile)
            .map_err(|error| ManagerError::refused(error.to_string()))?;
        if !self.needs_no_grant(guild, &profile) {
            may_grant(&self.grant_table(guild), by, &profile).map_err(ManagerError::Refused)?;
        }
        Ok(profile)
    }

    /// The server's default profile and `locked` may be given by whoever may make agents.
    pub(super) fn needs_no_grant(&self, guild: GuildId, profile: &ProfileRef) -> bool {
        let server = crate::config::effective::server(
            &self.inner.parts.settings_of(guild),
            &self.inner.parts.config.load(),
        );
        match profile {
            ProfileRef::Named(name) => *name == server.default_permissions || name == "locked",
            ProfileRef::Custom(_) => false,
        }
    }

    /// Who may grant which profile in a server.
    pub fn grant_table(&self, guild: GuildId) -> GrantTable {
        crate::config::effective::server(
            &self.inner.parts.settings_of(guild),
            &self.inner.parts.config.load(),
        )
        .permission_grants
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
        crate::permission::may_always_allow(&self.grant_table(guild), by)
            .map_err(ManagerError::Refused)?;
        Ok(json!(list))
    }

    /// Another name: for folder, channel and rows. Refused while something runs.
    async fn rename(
        &self,
        agent: &AgentSummary,
        value: &str,
        by: &Person,
        channels: &dyn Channels,
    ) -> Result<String, ManagerError> {
        let name = AgentName::parse(value.trim()).map_err(|error| {
            ManagerError::refused(format!(
                "`{}` cannot be a name: {error}.",
                text::one_line(value, 60)
            ))
        })?;
        if name == agent.name {
            return Err(ManagerError::refused(format!(
                "It is called `{name}` already."
            )));
        }
        let paths = &self.inner.parts.paths;
        if self.inner.roster.named(name.as_str()).is_some() || paths.agent(name.as_str()).exists() {
            return Err(ManagerError::refused(format!(
                "The name `{name}` is taken."
            )));
        }
        if self.is_busy(agent).await {
            return Err(ManagerError::refused(
                "A turn or a task of this agent runs. Rename it when it is done, or stop it first.",
            ));
        }
        self.end_actor(agent).await;
        let (from, to) = (paths.agent(agent.name.as_str()), paths.agent(name.as_str()));
        std::fs::rename(&from, &to).map_err(|error| {
            ManagerError::Failed(format!("the folder could not be renamed: {error}"))
        })?;
        let renamed = self.rename_rows(agent, &name, &to).await;
        if let Err(error) = renamed {
            // Back to where it was; a crash in between is mended at the next start by the row's name.
            let _ = std::fs::rename(&to, &from);
            return Err(error);
        }
        self.inner.roster.put(AgentSummary {
            name: name.clone(),
            ..agent.clone()
        });
        self.audit_edit(agent, "name", &json!(agent.name), &json!(name), by)
            .await?;
        let channel = match agent.channel {
            Some(channel) => channels.rename(channel, name.as_str()).await,
            None => Ok(()),
        };
        Ok(match channel {
            Ok(()) => format!("`{}` is now called `{name}`.", agent.name),
            Err(reason) => format!(
                "`{}` is now called `{name}`. Its channel keeps its name for now: {reason}",
                agent.name
            ),
        })
    }

    async fn rename_rows(
        &self,
        agent: &AgentSummary,
        name: &AgentName,
        folder: &std::path::Path,
    ) -> Result<(), ManagerError> {
        let file = folder::rewrite(folder, |keys| {
            keys.insert("name".to_owned(), Value::String(name.to_string()));
        })?;
        let renamed = AgentSummary {
            name: name.clone(),
            ..agent.clone()
        };
        self.index(&renamed, &file.config).await
    }

    /// Writes the agent's row anew from its configuration.
    pub(super) async fn index(
        &self,
        agent: &AgentSummary,
        config: &AgentConfig,
    ) -> Result<(), ManagerError> {
        let row = AgentRow {
            id: agent.id,
            name: agent.name.to_string(),
            guild_id: agent.guild,
            channel_id: agent.channel,
            model: config.model.clone(),
            permissions: config.permissions.clone(),
            owner_id: config.owner_id,
            created_at: config.created_at.unwrap_or_else(clock::now),
            status: AgentStatus::Active,
        };
        self.inner.parts.store.update_agent(row).await?;
        Ok(())
    }

    async fn audit_edit(
        &self,
        agent: &AgentSummary,
        key: &str,
        old: &Value,
        new: &Value,
        by: &Person,
    ) -> Result<(), ManagerError> {
        let change = crate::tools::Change {
            edited: key.to_owned(),
            old: shown(old),
            new: shown(new),
        };
        let row = AuditRow {
            timestamp: clock::now(),
            guild: Some(agent.guild),
            agent: Some(agent.id),
            agent_name: agent.name.to_string(),
            turn: None,
            action: format!("command:agent_config:{key}"),
            decision: "allow".to_owned(),
            user: Some(by.id),
            detail: self.inner.parts.audit_change(&change),
        };
        Ok(self.inner.parts.store.audit(row).await?)
    }
}

fn known_key(key: &str) -> Result<&'static str, ManagerError> {
    CONFIG_KEYS
        .into_iter()
        .find(|known| *known == key)
        .ok_or_else(|| unknown_key(key))
}

fn unknown_key(key: &str) -> ManagerError {
    let near = text::near(key, CONFIG_KEYS);
    ManagerError::refused(match near {
        Some(near) => format!(
            "There is no key `{}`. Did you mean `{near}`?",
            text::one_line(key, 60)
        ),
        None => format!(
            "There is no key `{}`. There are: {}.",
            text::one_line(key, 60),
            CONFIG_KEYS.join(", ")
        ),
    })
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "not set".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn seconds(text: &str, zero: bool) -> Result<u64, ManagerError> {
    let parsed = text.parse::<u64>().ok().or_else(|| {
        humantime::parse_duration(text)
            .ok()
            .map(|length| length.as_secs())
    });
    match parsed {
        Some(0) if zero => Ok(0),
        Some(seconds) if seconds > 0 && seconds <= 365 * 86_400 => Ok(seconds),
        _ => Err(ManagerError::refused(
            "Write a duration in seconds or with a unit, such as `1800`, `30m` or `2h`; `0` turns an idle timeout off, `default` takes the server's.",
        )),
    }
}

fn on_or_off(text: &str) -> Result<bool, ManagerError> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "on" | "yes" | "1" => Ok(true),
        "false" | "off" | "no" | "0" => Ok(false),
        _ => Err(ManagerError::refused("Write `true` or `false`.")),
    }
}

fn dollars(text: &str) -> Result<f64, ManagerError> {
    let parsed = text
        .trim_start_matches('$')
        .parse::<f64>()
        .ok()
        .filter(|usd| usd.is_finite() && *usd >= 0.0);
    parsed.ok_or_else(|| {
        ManagerError::refused("Write US dollars, such as `0.50`, or `none` for no budget.")
    })
}

fn roles(text: &str) -> Result<Value, ManagerError> {
    let ids: Option<Vec<u64>> = text
        .split([',', ' '])
        .map(|part| part.trim_matches(|c: char| !c.is_ascii_digit()))
        .filter(|part| !part.is_empty())
        .map(|part| part.parse().ok())
        .collect();
    ids.map(|ids| json!(ids)).ok_or_else(|| {
        ManagerError::refused(
            "Name roles by mention or id, with commas between; `default` takes the server's.",
        )
    })
}
