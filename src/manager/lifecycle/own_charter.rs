//! `/agent config … charter`: shows the agent's own charter, replaces it with a role's or a text, or removes it.

use serde_json::Value;

use crate::config::{Key, is_default};
use crate::domain::Person;
use crate::manager::directory::folder::off_thread;
use crate::manager::directory::registry::AgentSummary;
use crate::manager::error::ManagerError;
use crate::manager::lifecycle::configurator::Configurator;
use crate::manager::lifecycle::origin::{self, Written};
use crate::workspace::{Workspace, charter_file};

impl Configurator {
    /// The text of the agent's charter; empty where it has none.
    pub(crate) async fn charter_text(
        &self,
        agent: &AgentSummary,
    ) -> Result<Option<String>, ManagerError> {
        let folder = self.deps.paths.agent(agent.name.as_str());
        off_thread(move || {
            let unreadable = |error: &dyn std::fmt::Display| {
                ManagerError::refused(format!("{} cannot be read: {error}.", charter_file::NAME))
            };
            let opened = Workspace::open(&folder).map_err(|error| unreadable(&error))?;
            let version = charter_file::version(opened.agent());
            if version.map_err(|error| unreadable(&error))?.is_none() {
                return Ok(None);
            }
            let bytes = charter_file::read(opened.agent(), charter_file::NAME);
            let bytes = bytes.map_err(|error| unreadable(&error))?;
            Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
        })
        .await
    }

    /// Gives the agent another charter: a role's by name, a text of several lines, or none with the word `none`. It is
    /// compiled first; a mistake changes nothing.
    pub(crate) async fn set_charter(
        &self,
        agent: &AgentSummary,
        key: &'static Key,
        value: &str,
        by: &Person,
    ) -> Result<String, ManagerError> {
        // One that cannot be read is replaced nevertheless.
        let old = self.charter_text(agent).await.unwrap_or_default();
        let new = if is_default(value) {
            None
        } else {
            Some(self.compiled(agent, value).await?)
        };
        let text = new.as_ref().map(|written| written.text.clone());
        let json = |text: &Option<String>| text.clone().map_or(Value::Null, Value::String);
        let row = self
            .audit
            .edit_row(agent, key, &json(&old), &json(&text), by);
        let folder = self.deps.paths.agent(agent.name.as_str());
        self.audit
            .audited(row, async {
                off_thread(move || {
                    let failed = |error: std::io::Error| {
                        ManagerError::Failed(format!("{}: {error}", charter_file::NAME))
                    };
                    let opened = Workspace::open(&folder).map_err(failed)?;
                    match text {
                        Some(text) => charter_file::write(opened.agent(), text.as_bytes()),
                        None => charter_file::remove(opened.agent()),
                    }
                    .map_err(failed)
                })
                .await
            })
            .await?;
        Ok(match new {
            None => format!(
                "`{}` has no charter now. It applies from the next request.",
                agent.name
            ),
            Some(written) => {
                let notes = written.role.notes.iter();
                let notes: String = notes.map(|note| format!("\n-# {}", note.message)).collect();
                format!(
                    "`{}.{key}` is now the role `{}`. It applies from the next request.{notes}",
                    agent.name, written.role.name
                )
            }
        })
    }

    async fn compiled(&self, agent: &AgentSummary, value: &str) -> Result<Written, ManagerError> {
        let deps = &self.deps;
        let (home, folder) = (
            deps.paths.home.clone(),
            deps.paths.agent(agent.name.as_str()),
        );
        let value = value.to_owned();
        let done =
            deps.with_known(move |known| origin::named_or_written(&value, &folder, &home, known));
        done.await
            .map_err(|error| ManagerError::Failed(error.to_string()))?
    }
}
