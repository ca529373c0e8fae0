//! Another name for an agent: folder, rows and channel.

use serde_json::{Value, json};

use crate::domain::{AgentName, Person};
use crate::text;

use super::error::ManagerError;
use super::folder;
use super::handle::AgentManager;
use super::ports::Channels;
use super::roster::AgentSummary;

impl AgentManager {
    /// Another name: for folder, channel and rows. Refused while something runs.
    pub(super) async fn rename(
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
}
