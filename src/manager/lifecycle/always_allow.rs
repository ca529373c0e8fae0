//! What people allowed an agent permanently: listed, and removed entry by entry.

use serde_json::{Value, json};

use crate::config::effective;
use crate::domain::{GuildId, Person};
use crate::manager::directory::folder;
use crate::manager::directory::registry::AgentSummary;
use crate::manager::error::ManagerError;
use crate::manager::lifecycle::configurator::Configurator;

impl Configurator {
    /// The entries of the agent's `always_allow`.
    ///
    /// # Errors
    ///
    /// When there is no such agent, or its file cannot be read.
    pub(crate) async fn always_allowed(
        &self,
        guild: GuildId,
        name: &str,
    ) -> Result<Vec<String>, ManagerError> {
        let agent = self.directory.find(guild, name)?;
        let folder = self.deps.paths.agent(agent.name.as_str());
        let file = folder::load(folder).await?;
        Ok(file.config.always_allow)
    }

    /// Removes the first entry for which `is_it` is true, and returns the remaining ones.
    ///
    /// # Errors
    ///
    /// When there is no such agent or entry, or the file cannot be written.
    pub(crate) async fn take_back(
        &self,
        guild: GuildId,
        name: &str,
        by: &Person,
        is_it: impl Fn(&str) -> bool + Send + Sync,
    ) -> Result<Vec<String>, ManagerError> {
        let _alone = self.names.lock(name).await;
        let agent = self.directory.find(guild, name)?;
        self.take_entry_back(&agent, by, |_, entry| is_it(entry))
            .await
    }

    /// Removes what `/agent config` names: a number of the list, or an exact entry.
    pub(crate) async fn take_named_back(
        &self,
        agent: &AgentSummary,
        by: &Person,
        named: &str,
    ) -> Result<String, ManagerError> {
        let number = named.parse::<usize>().ok();
        let left = self
            .take_entry_back(agent, by, |at, entry| match number {
                Some(number) => at + 1 == number,
                None => entry == named,
            })
            .await?;
        let left = crate::text::count(left.len(), "entry is", "entries are");
        Ok(format!(
            "Removed: `{}` asks about it again, from the next call on. {left} left.",
            agent.name
        ))
    }

    async fn take_entry_back(
        &self,
        agent: &AgentSummary,
        by: &Person,
        is_it: impl Fn(usize, &str) -> bool + Send + Sync,
    ) -> Result<Vec<String>, ManagerError> {
        let path = self.deps.paths.agent(agent.name.as_str());
        let old = folder::load(path.clone()).await?.config.always_allow;
        let entry = old.iter().enumerate().find(|(at, entry)| is_it(*at, entry));
        let Some((_, entry)) = entry else {
            return Err(ManagerError::refused(
                "That entry of `always_allow` was already removed. `/agent config` with only the key shows the list.",
            ));
        };
        let left: Vec<&String> = old.iter().filter(|one| *one != entry).collect();
        let row = self.audit.edit_row(
            agent,
            &effective::ALWAYS_ALLOW,
            &json!(old),
            &json!(left),
            by,
        );
        self.audit
            .audited(row, async {
                let entry = entry.clone();
                let written = folder::change(path, move |keys| {
                    if let Some(Value::Array(list)) = keys.get_mut("always_allow") {
                        list.retain(|one| *one != entry);
                    }
                });
                Ok(written.await?.config.always_allow)
            })
            .await
    }
}
