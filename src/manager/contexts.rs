//! The context commands, and the sessions that they save and use.

use std::cmp::Reverse;

use serde_json::json;
use tokio::sync::oneshot;

use crate::agent::sessions::{Imported, SessionError, SessionList};
use crate::agent::{AgentCommand, ContextAction, Stopper, Target};
use crate::domain::{AgentId, AgentName, AgentStatus, ChannelId, GuildId, Person};
use crate::store::{AgentRow, AuditRow};

use super::AgentManager;
use super::error::ManagerError;
use super::folder;
use super::registry::AgentSummary;

/// A page of an agent's saved sessions.
#[derive(Clone, Debug)]
pub struct History {
    pub id: AgentId,
    pub agent: String,
    pub list: SessionList,
}

impl AgentManager {
    /// Has an agent do something with the context that belongs to `channel`. Waits while that has another job.
    ///
    /// # Errors
    ///
    /// When it cannot be done; the context is unchanged then.
    pub async fn context<T>(
        &self,
        agent: &AgentSummary,
        channel: ChannelId,
        by: Stopper,
        action: impl FnOnce(oneshot::Sender<Result<T, SessionError>>) -> ContextAction,
    ) -> Result<T, ManagerError> {
        let (reply, answer) = oneshot::channel();
        let command = AgentCommand::Context(Target::Channel(channel), by, action(reply));
        self.deliver(agent, command).await?;
        let answer = answer
            .await
            .map_err(|_| ManagerError::Failed("the agent ended meanwhile".to_owned()))?;
        Ok(answer?)
    }

    /// `/context import`: a session file of another agent in this agent's folder becomes a session of this one.
    ///
    /// # Errors
    ///
    /// When there is no such file, it cannot be used, or it needs no import.
    pub async fn context_import(
        &self,
        agent: &AgentSummary,
        word: &str,
        by: &Person,
    ) -> Result<Imported, ManagerError> {
        let row = AuditRow {
            detail: Some(json!({ "file": word }).to_string()),
            ..self.agent_row("context:import", agent, by)
        };
        let sessions = self.sessions_of(agent);
        self.audited(row, async { Ok(sessions.import(word).await?) })
            .await
    }

    /// `/context history`: of an existing agent, or of a destroyed one ([`Self::destroyed`]).
    pub async fn context_history(
        &self,
        agent: &AgentSummary,
        offset: u32,
        limit: u32,
    ) -> Result<History, ManagerError> {
        let sessions = self.sessions_of(agent);
        let list = if self.has_own_folder(agent).await {
            sessions.list_sessions(offset, limit).await?
        } else {
            sessions.list_without_files(offset, limit).await?
        };
        Ok(History {
            id: agent.id,
            agent: agent.name.to_string(),
            list,
        })
    }

    /// Whether the folder with an agent's name is its own: that of a destroyed one may be gone, or belong to another agent
    /// by now.
    async fn has_own_folder(&self, agent: &AgentSummary) -> bool {
        if agent.status != AgentStatus::Destroyed {
            return true;
        }
        let folder = self.inner.deps.paths.agent(agent.name.as_str());
        let file = folder::load(folder).await.ok();
        file.is_some_and(|file| file.config.id == Some(agent.id))
    }

    /// The destroyed agents of a server, the latest first; their rows are kept for good.
    pub async fn all_destroyed(&self, guild: GuildId) -> Result<Vec<AgentRow>, ManagerError> {
        let mut rows = self.inner.deps.store.agents().await?;
        rows.retain(|row| row.guild_id == guild && row.status == AgentStatus::Destroyed);
        rows.sort_by_key(|row| Reverse(row.created_at));
        Ok(rows)
    }

    /// The destroyed agent of a server that `word` names: by its id, or the latest one of that name.
    pub async fn destroyed(
        &self,
        guild: GuildId,
        word: &str,
    ) -> Result<Option<AgentSummary>, ManagerError> {
        let rows = self.all_destroyed(guild).await?;
        let found = rows
            .into_iter()
            .find(|row| row.name == word || row.id.to_string() == word);
        Ok(found.and_then(|row| {
            Some(AgentSummary {
                id: row.id,
                name: AgentName::parse(&row.name).ok()?,
                guild,
                channel: None,
                status: row.status,
            })
        }))
    }

    pub(super) fn sessions_of(
        &self,
        agent: &AgentSummary,
    ) -> crate::agent::sessions::SessionManager {
        let deps = &self.inner.deps;
        crate::agent::sessions::SessionManager::new(
            agent.id,
            agent.name.as_str(),
            &deps.paths.agent(agent.name.as_str()),
            deps.store.clone(),
        )
    }
}
