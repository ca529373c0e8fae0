//! The way of a message from Discord to an agent's mailbox, and of a request to stop.

use std::sync::Arc;

use futures_util::future::join_all;
use tokio::sync::oneshot;
use tracing::{error, warn};

use crate::agent::{
    self, AgentCommand, AgentHandle, Beginning, Overrides, Place, Prompt, Source, Stop, Stopped,
    Stopper, Target, Trigger,
};
use crate::domain::{
    AgentId, Attachment, ChannelId, ConversationId, Inbound, MessageId, Person, SessionMeta,
};
use crate::store::{Accepted, StoreError};

use super::AgentManager;
use super::error::ManagerError;
use super::registry::AgentSummary;

/// The outcome of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// It is in the ledger and with its agent.
    Accepted,
    /// It was there already.
    Duplicate,
}

impl AgentManager {
    /// Stores a message (D1) and hands it to its agent, with what was read of it meanwhile. When this returns, the message may be
    /// acknowledged.
    ///
    /// # Errors
    ///
    /// When the ledger did not take it: then it must not be acknowledged.
    pub async fn receive(
        &self,
        agent: &AgentSummary,
        message: Inbound,
        ahead: Option<Box<Beginning>>,
    ) -> Result<Received, ManagerError> {
        let command = |message| AgentCommand::Message(message, ahead);
        self.accept(agent, message, command).await
    }

    /// Commits a message of an agent (D1), then sends the command for it.
    async fn accept(
        &self,
        agent: &AgentSummary,
        message: Inbound,
        command: impl FnOnce(Box<Inbound>) -> AgentCommand,
    ) -> Result<Received, ManagerError> {
        if !self.serves(agent.guild) {
            return Err(ManagerError::NotServed);
        }
        if self.inner.registry.get(agent.id).is_none() {
            return Err(ManagerError::NoAgentHere);
        }
        if self.inner.deps.store.accept(&message).await? == Accepted::Known {
            return Ok(Received::Duplicate);
        }
        self.deliver(agent, command(Box::new(message))).await?;
        Ok(Received::Accepted)
    }

    /// Somebody wrote in the channel of an agent or a thread below it, to the agent or not. An agent without an actor has
    /// no context whose silence would end.
    pub async fn activity(&self, agent: AgentId, channel: ChannelId) {
        if let Some(actor) = self.inner.registry.running(agent) {
            // One that ends in this moment need not know.
            let _ = actor.send(AgentCommand::Activity(channel)).await;
        }
    }

    /// Hands a message that is in the ledger already to its agent again, after a start.
    ///
    /// # Errors
    ///
    /// When no agent takes it any more.
    pub async fn redeliver(&self, message: Inbound) -> Result<(), ManagerError> {
        let agent = self
            .agent_for(message.channel_id, message.parent_id)
            .ok_or(ManagerError::NoAgentHere)?;
        self.deliver(&agent, AgentCommand::Message(Box::new(message), None))
            .await
    }

    /// A turn asked for by a command: `message` is the post shown for it, with the person as its author.
    ///
    /// # Errors
    ///
    /// When the agent is gone, or the ledger fails.
    pub async fn ask(
        &self,
        agent: &AgentSummary,
        message: Inbound,
        overrides: Overrides,
    ) -> Result<Received, ManagerError> {
        let place = Place::Channel(message.channel_id);
        self.prompt(agent, message, place, overrides).await
    }

    /// The same in a conversation that is known already.
    ///
    /// # Errors
    ///
    /// When the agent is gone, or the ledger fails.
    pub async fn ask_in(
        &self,
        agent: &AgentSummary,
        message: Inbound,
        conversation: ConversationId,
    ) -> Result<Received, ManagerError> {
        let place = Place::Conversation(conversation);
        self.prompt(agent, message, place, Overrides::default())
            .await
    }

    pub(super) async fn prompt(
        &self,
        agent: &AgentSummary,
        message: Inbound,
        place: Place,
        overrides: Overrides,
    ) -> Result<Received, ManagerError> {
        let prompt = |message| {
            AgentCommand::Prompt(Box::new(Prompt {
                trigger: Trigger::new(Source::Message(message), overrides),
                place,
            }))
        };
        self.accept(agent, message, prompt).await
    }

    /// Applies an edit to a message that still waits; `None` for its files leaves them unchanged.
    pub async fn edited(
        &self,
        message: MessageId,
        content: &str,
        attachments: Option<Vec<Attachment>>,
    ) -> Result<(), StoreError> {
        self.inner
            .deps
            .store
            .update_queued(message, content, attachments)
            .await
            .map(drop)
    }

    /// Removes a message that was deleted while it waited.
    pub async fn deleted(&self, message: MessageId) -> Result<(), StoreError> {
        self.inner.deps.store.drop_queued(message).await.map(drop)
    }

    /// The agent that lives in `channel`, or in the channel above when it is a thread.
    pub fn agent_for(&self, channel: ChannelId, parent: Option<ChannelId>) -> Option<AgentSummary> {
        let registry = &self.inner.registry;
        registry
            .in_channel(channel)
            .or_else(|| registry.in_channel(parent?))
    }

    /// Ends turns of an agent: at once, or with one last step in which they answer.
    ///
    /// # Errors
    ///
    /// When it is a sub-agent that works as an agent to which `by` has no access, or the ledger fails.
    pub async fn stop(
        &self,
        agent: &AgentSummary,
        target: Target,
        stop: Stop,
        by: &Person,
    ) -> Result<Stopped, ManagerError> {
        let Some(actor) = self.inner.registry.running(agent.id) else {
            return Ok(Stopped::Nothing);
        };
        let target = self.or_child_there(agent, target).await;
        self.may_stop(target, by).await?;
        let (reply, asked) = oneshot::channel();
        let command = AgentCommand::Stop(target, stop, by.into(), reply);
        if actor.send(command).await.is_err() {
            return Ok(Stopped::Nothing);
        }
        Ok(asked.await.unwrap_or(Stopped::Nothing))
    }

    /// Replaces a thread with the child turn that is shown there, if one is.
    async fn or_child_there(&self, agent: &AgentSummary, target: Target) -> Target {
        let Target::Channel(channel) = target else {
            return target;
        };
        if agent.channel == Some(channel) {
            return target;
        }
        match self.inner.deps.store.child_in_thread(channel).await {
            Ok(Some(child)) if child.agent == agent.id => Target::ChildIn(child.id),
            Ok(_) => target,
            Err(error) => {
                warn!("failed to look up what a thread is of: {error}");
                target
            }
        }
    }

    /// Puts a command into an agent's mailbox; an actor that just ended is started again.
    pub(super) async fn deliver(
        &self,
        agent: &AgentSummary,
        command: AgentCommand,
    ) -> Result<(), ManagerError> {
        if !self.serves(agent.guild) {
            return Err(ManagerError::NotServed);
        }
        let mut command = command;
        for _ in 0..2 {
            self.inner.gate.passes(agent.id).await;
            // Its present name: it may have been renamed meanwhile, or destroyed.
            let now = self.inner.registry.get(agent.id);
            let now = now.ok_or(ManagerError::NoAgentHere)?;
            match self.actor(&now)?.send(command).await {
                Ok(()) => return Ok(()),
                Err(back) => command = back,
            }
        }
        error!(agent.id = %agent.id, "the actor of {} ends as soon as it is made", agent.name);
        Err(ManagerError::Failed(
            "the agent does not take messages; the operator finds the cause in the log".to_owned(),
        ))
    }

    pub(super) fn actor(&self, agent: &AgentSummary) -> Result<AgentHandle, ManagerError> {
        let channel = agent.channel.ok_or_else(|| {
            ManagerError::refused(format!(
                "Agent `{0}` has no channel. Use `/agent repair {0}`.",
                agent.name
            ))
        })?;
        Ok(self.inner.registry.actor(agent.id, || {
            agent::spawn(
                self.inner.registry.tasks(),
                Arc::clone(&self.inner.deps),
                agent.id,
                agent.name.clone(),
                agent.guild,
                channel,
            )
        }))
    }

    /// Starts the actors of agents whose context was kept over a crash, so that their idle timers run.
    pub fn wake(&self, agents: &[crate::domain::AgentId]) -> Result<(), ManagerError> {
        for id in agents {
            if let Some(agent) = self.inner.registry.get(*id)
                && agent.channel.is_some()
                && self.serves(agent.guild)
            {
                self.actor(&agent)?;
            }
        }
        Ok(())
    }

    /// Ends all turns and saves all contexts, for the end of the daemon.
    pub async fn shut_down(&self) -> Vec<SessionMeta> {
        let ended = self
            .inner
            .registry
            .take_actors()
            .into_iter()
            .map(|actor| async move {
                let (reply, saved) = oneshot::channel();
                match actor
                    .send(AgentCommand::Shutdown(Stopper::Shutdown, reply))
                    .await
                {
                    Ok(()) => saved.await.unwrap_or_default(),
                    Err(_) => Vec::new(),
                }
            });
        let saved = join_all(ended).await.into_iter().flatten().collect();
        self.inner.registry.actors_ended().await;
        saved
    }
}
