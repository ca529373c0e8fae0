//! Servers' settings: kept in memory for every step to read, written through the ledger.

use std::sync::Arc;

use serde_json::Value;

use crate::agent::AgentDeps;
use crate::config::{Key, Right, Settings, effective};
use crate::domain::{GuildId, Person};
use crate::llm::discovery::Choice;
use crate::manager::audit::Audit;
use crate::manager::directory::Directory;
use crate::manager::error::ManagerError;
use crate::manager::servers::grants::GrantRules;
use crate::permission::may_always_allow;
use crate::store::{AuditRow, StoreError};

/// The settings and the decisions of servers.
pub(crate) struct ServerSettings {
    pub(crate) deps: Arc<AgentDeps>,
    pub(crate) directory: Arc<Directory>,
    pub(crate) grants: Arc<GrantRules>,
    pub(crate) audit: Arc<Audit>,
}

impl ServerSettings {
    /// The id of a model that a person named, also by a short name.
    ///
    /// # Errors
    ///
    /// A sentence, when there is none of that name.
    pub(crate) async fn known_model(&self, name: &str) -> Result<String, ManagerError> {
        Arc::clone(&self.deps.models)
            .resolve(name)
            .await
            .map_err(|error| ManagerError::Refused(error.to_string()))
    }

    /// Reads the settings of all servers with agents.
    pub(crate) async fn load(&self) -> Result<(), StoreError> {
        for guild in self.directory.guilds() {
            self.reload(guild).await?;
        }
        Ok(())
    }

    /// Reads the settings of one server again; also when the bot joins it.
    pub(crate) async fn reload(&self, guild: GuildId) -> Result<(), StoreError> {
        let deps = &self.deps;
        let settings = Settings::from_rows(&deps.store.settings(guild).await?);
        deps.settings.write().insert(guild, Arc::new(settings));
        Ok(())
    }

    /// What applies to a server now.
    pub(crate) fn server(&self, guild: GuildId) -> effective::Server {
        effective::server(&self.deps.settings_of(guild), &self.deps.config.load())
    }

    /// The model that an agent of this server asks first if it names `model`, or none.
    pub(crate) fn choice(&self, guild: GuildId, model: Option<&str>) -> Choice {
        let default = self.server(guild).default_model;
        let known = self.deps.models.known();
        let own = model.filter(|model| effective::is_chosen(model));
        known.choice(own.or(default.as_deref()))
    }

    /// Sets a key for a server; `None` unsets it. It applies at once.
    ///
    /// # Errors
    ///
    /// When the ledger fails, or the key removes a protection and they may not grant `open`.
    pub(crate) async fn set(
        &self,
        guild: GuildId,
        key: &Key,
        value: Option<Value>,
        by: &Person,
    ) -> Result<(), ManagerError> {
        if key.server == Some(Right::GrantOpen) {
            may_always_allow(&self.grants.grant_table(guild), by)?;
        }
        let deps = &self.deps;
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
            ..self
                .audit
                .command_row(&format!("settings:{key}"), guild, by.id)
        };
        self.audit
            .audited(row, async {
                deps.store.set_setting(guild, key.name, value).await?;
                Ok(self.reload(guild).await?)
            })
            .await
    }
}
