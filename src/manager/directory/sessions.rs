//! The saved sessions of agents, also of destroyed ones.

use std::cmp::Reverse;

use crate::agent::sessions::SessionList;
use crate::domain::{AgentId, AgentName, AgentStatus, GuildId};
use crate::manager::directory::registry::AgentSummary;
use crate::manager::directory::{Directory, folder};
use crate::manager::error::ManagerError;
use crate::store::AgentRow;

/// A page of an agent's saved sessions.
#[derive(Clone, Debug)]
pub struct History {
    pub id: AgentId,
    pub agent: String,
    pub list: SessionList,
}

impl Directory {
    /// `/context history`: of an existing agent, or of a destroyed one ([`Self::destroyed`]).
    pub(crate) async fn context_history(
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
        let folder = self.deps.paths.agent(agent.name.as_str());
        let file = folder::load(folder).await.ok();
        file.is_some_and(|file| file.config.id == Some(agent.id))
    }

    /// The destroyed agents of a server, the latest first; their rows are kept for good.
    pub(crate) async fn all_destroyed(
        &self,
        guild: GuildId,
    ) -> Result<Vec<AgentRow>, ManagerError> {
        let mut rows = self.deps.store.agents().await?;
        rows.retain(|row| row.guild_id == guild && row.status == AgentStatus::Destroyed);
        rows.sort_by_key(|row| Reverse(row.created_at));
        Ok(rows)
    }

    /// The destroyed agent of a server that `word` names: by its id, or the latest one of that name.
    pub(crate) async fn destroyed(
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

    pub(crate) fn sessions_of(
        &self,
        agent: &AgentSummary,
    ) -> crate::agent::sessions::SessionManager {
        let deps = &self.deps;
        crate::agent::sessions::SessionManager::new(
            agent.id,
            agent.name.as_str(),
            &deps.paths.agent(agent.name.as_str()),
            deps.store.clone(),
        )
    }
}
