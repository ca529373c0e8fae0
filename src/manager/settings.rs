//! Servers' settings: kept in memory for every step to read, written through the ledger.

use std::sync::Arc;

use serde_json::Value;

use crate::config::{Key, Right, Settings, effective};
use crate::domain::{GuildId, Person};
use crate::llm::discovery::Choice;
use crate::permission::may_always_allow;
use crate::store::{AuditRow, StoreError};

use super::AgentManager;
use super::error::ManagerError;

impl AgentManager {
    /// Reads the settings of all servers with agents.
    pub(super) async fn load_settings(&self) -> Result<(), StoreError> {
        for guild in self.guilds() {
            self.reload_settings(guild).await?;
        }
        Ok(())
    }

    /// Reads the settings of one server again; also when the bot joins it.
    pub async fn reload_settings(&self, guild: GuildId) -> Result<(), StoreError> {
        let deps = &self.inner.deps;
        let settings = Settings::from_rows(&deps.store.settings(guild).await?);
        deps.settings.write().insert(guild, Arc::new(settings));
        Ok(())
    }

    /// What applies to a server now.
    pub fn server(&self, guild: GuildId) -> effective::Server {
        effective::server(
            &self.inner.deps.settings_of(guild),
            &self.inner.deps.config.load(),
        )
    }

    /// The model that an agent of this server asks first if it names `model`, or none.
    pub fn choice(&self, guild: GuildId, model: Option<&str>) -> Choice {
        let default = self.server(guild).default_model;
        let known = self.inner.deps.models.known();
        let own = model.filter(|model| effective::is_chosen(model));
        known.choice(own.or(default.as_deref()))
    }

    /// Sets a key for a server; `None` unsets it. It applies at once.
    ///
    /// # Errors
    ///
    /// When the ledger fails, or the key removes a protection and they may not grant `open`.
    pub async fn set_setting(
        &self,
        guild: GuildId,
        key: &Key,
        value: Option<Value>,
        by: &Person,
    ) -> Result<(), ManagerError> {
        if key.server == Some(Right::GrantOpen) {
            may_always_allow(&self.grant_table(guild), by)?;
        }
        let deps = &self.inner.deps;
        let old = deps.store.settings(guild).await?.remove(key.name);
        let shown = |value: &Option<Value>| {
            value
                .as_ref()
                .map_or("not set".to_owned(), Value::to_string)
        };
        let change = crate::tools::Change {
            edited: key.name.to_owned(),
            old: shown(&old),
            new: shown(&value),
        };
        let row = AuditRow {
            detail: deps.audit_change(&change),
            ..self.command_row(&format!("settings:{key}"), guild, by.id)
        };
        self.audited(row, async {
            deps.store.set_setting(guild, key.name, value).await?;
            Ok(self.reload_settings(guild).await?)
        })
        .await
    }
}
