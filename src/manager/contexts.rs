//! The context commands, and the sessions that they make and use.

use tokio::sync::oneshot;

use crate::agent::session_manager::{SessionError, SessionList};
use crate::agent::{AfterSave, BeforeClear, Cleared, ContextAction, Letter, Restored, Target};
use crate::domain::{ChannelId, GuildId, SessionMeta};

use super::error::ManagerError;
use super::handle::AgentManager;
use super::roster::AgentSummary;

/// A page of an agent's saved sessions.
#[derive(Clone, Debug)]
pub struct History {
    /// The agent.
    pub agent: String,
    /// The page.
    pub list: SessionList,
}

impl AgentManager {
    /// `/context save`.
    ///
    /// # Errors
    ///
    /// When there is nothing to save, or it cannot be saved.
    pub async fn context_save(
        &self,
        channel: ChannelId,
        parent: Option<ChannelId>,
        description: Option<String>,
        then: AfterSave,
    ) -> Result<SessionMeta, ManagerError> {
        self.context(channel, parent, |reply| ContextAction::Save {
            description,
            then,
            reply,
        })
        .await
    }

    /// `/context clear`.
    ///
    /// # Errors
    ///
    /// When it should be saved first and cannot.
    pub async fn context_clear(
        &self,
        channel: ChannelId,
        parent: Option<ChannelId>,
        first: BeforeClear,
    ) -> Result<Cleared, ManagerError> {
        self.context(channel, parent, |reply| ContextAction::Clear {
            first,
            reply,
        })
        .await
    }

    /// `/context restore`.
    ///
    /// # Errors
    ///
    /// When there is no such session of this agent, or its file cannot be used; the context is untouched then.
    pub async fn context_restore(
        &self,
        channel: ChannelId,
        parent: Option<ChannelId>,
        session: &str,
    ) -> Result<Restored, ManagerError> {
        let session = session.to_owned();
        self.context(channel, parent, |reply| ContextAction::Restore {
            session,
            reply,
        })
        .await
    }

    /// `/context compact`; one line on what came of it.
    ///
    /// # Errors
    ///
    /// When there is nothing to compact or no summary to be had.
    pub async fn context_compact(
        &self,
        channel: ChannelId,
        parent: Option<ChannelId>,
    ) -> Result<String, ManagerError> {
        self.context(channel, parent, |reply| ContextAction::Compact { reply })
            .await
    }

    async fn context<T>(
        &self,
        channel: ChannelId,
        parent: Option<ChannelId>,
        action: impl FnOnce(oneshot::Sender<Result<T, SessionError>>) -> ContextAction,
    ) -> Result<T, ManagerError> {
        let agent = self
            .agent_for(channel, parent)
            .ok_or(ManagerError::NoAgentHere)?;
        let (reply, answer) = oneshot::channel();
        self.deliver(
            &agent,
            Letter::Context(Target::Channel(channel), action(reply)),
        )
        .await?;
        let answer = answer
            .await
            .map_err(|_| ManagerError::Failed("the agent ended meanwhile".to_owned()))?;
        Ok(answer?)
    }

    /// `/context history`: of the channel's agent, or of a named one of the same server, destroyed ones included.
    ///
    /// # Errors
    ///
    /// When there is no such agent or the index cannot be read.
    pub async fn context_history(
        &self,
        guild: GuildId,
        channel: ChannelId,
        parent: Option<ChannelId>,
        agent_name: Option<&str>,
        offset: u32,
        limit: u32,
    ) -> Result<History, ManagerError> {
        let agent = match agent_name {
            Some(name) => self.find(guild, name)?,
            None => self
                .agent_for(channel, parent)
                .ok_or(ManagerError::NoAgentHere)?,
        };
        let list = self
            .sessions_of(&agent)
            .list_sessions(offset, limit)
            .await?;
        Ok(History {
            agent: agent.name.to_string(),
            list,
        })
    }

    pub(super) fn sessions_of(
        &self,
        agent: &AgentSummary,
    ) -> crate::agent::session_manager::SessionManager {
        let parts = &self.inner.parts;
        crate::agent::session_manager::SessionManager::new(
            agent.id,
            agent.name.as_str(),
            &parts.paths.agent(agent.name.as_str()),
            parts.store.clone(),
        )
    }
}
