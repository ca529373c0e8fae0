//! Takes messages and commands from Discord to the mailboxes of agents; starts and ends their actors.

pub(crate) mod branches;
mod task_events;
pub(crate) mod tasks;

use std::sync::Arc;

use futures_util::future::join_all;
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::oneshot;
use tracing::{error, warn};

use crate::agent::sessions::{Imported, SessionError};
use crate::agent::{
    self, AgentCommand, AgentDeps, AgentHandle, Beginning, Configuration, ContextAction,
    MOST_CORE_AGENTS, Overrides, Place, Prompt, Source, Stop, Stopped, Stopper, Target, Trigger,
};
use crate::domain::{
    AgentId, Attachment, ChannelId, ConversationId, GuildId, Inbound, MessageId, Person,
    SessionMeta, TurnId,
};
use crate::manager::audit::Audit;
use crate::manager::directory::Directory;
use crate::manager::directory::registry::AgentSummary;
use crate::manager::error::ManagerError;
use crate::manager::names::Gate;
use crate::manager::routing::tasks::AgentTasks;
use crate::manager::servers::Servers;
use crate::manager::servers::access_control::AccessControl;
use crate::store::{Accepted, AuditRow, StoreError};

/// The outcome of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// It is in the ledger and with its agent.
    Accepted,
    /// It was there already.
    Duplicate,
}

/// Takes messages and commands to the actors of agents, which it starts and ends.
pub(crate) struct Routing {
    pub(crate) deps: Arc<AgentDeps>,
    pub(crate) directory: Arc<Directory>,
    pub(crate) servers: Arc<Servers>,
    pub(crate) access: Arc<AccessControl>,
    pub(crate) tasks: Arc<AgentTasks>,
    pub(crate) audit: Arc<Audit>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) held: Held,
}

/// Holds messages back after a start, until it is decided how interrupted turns go on: these come before what was written since.
#[derive(Debug, Default)]
pub(crate) struct Held(Mutex<Option<Vec<(AgentSummary, AgentCommand)>>>);

impl Routing {
    /// Reports, after a start, the agents of a server whose files cannot be used, and makes those ready that go first.
    pub(crate) async fn look_at_agents(&self, guild: GuildId) {
        for agent in self.directory.agents(guild) {
            // A missing folder is reported separately.
            if self.directory.has_folder(&agent).await {
                let read = self.directory.configuration(&agent).await;
                self.directory.tell_of_file(&agent, &read).await;
                self.directory.tell_of_workspace(&agent).await;
                self.get_ready(&agent, &read).await;
            }
        }
    }

    /// Has an agent that goes first read what its first turn needs, so that problems are reported before anybody writes.
    pub(crate) async fn get_ready(&self, agent: &AgentSummary, read: &Configuration) {
        let Configuration::Good(config) = read else {
            return;
        };
        if config.core != Some(true) || agent.channel.is_none() {
            return;
        }
        if !self.deps.configurations.core.has(agent.id) {
            warn!(
                agent.id = %agent.id,
                "agent {} has `core: true`, but {MOST_CORE_AGENTS} agents have it already: it is an ordinary one",
                agent.name
            );
            return;
        }
        if let Err(error) = self.deliver(agent, AgentCommand::GetReady).await {
            warn!(agent.id = %agent.id, "failed to get agent {} ready: {error}", agent.name);
        }
    }

    /// Has an agent do something with the context that belongs to `channel`. Waits while that has another job.
    ///
    /// # Errors
    ///
    /// When it cannot be done; the context is unchanged then.
    pub(crate) async fn context<T>(
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
            .map_err(|_| ManagerError::Failed("the agent ended in the meantime".to_owned()))?;
        Ok(answer?)
    }

    /// `/context import`: a session file of another agent in this agent's folder becomes a session of this one.
    ///
    /// # Errors
    ///
    /// When there is no such file, it cannot be used, or it needs no import.
    pub(crate) async fn context_import(
        &self,
        agent: &AgentSummary,
        word: &str,
        by: &Person,
    ) -> Result<Imported, ManagerError> {
        let row = AuditRow {
            detail: Some(json!({ "file": word }).to_string()),
            ..self.audit.agent_row("context:import", agent, by)
        };
        let sessions = self.directory.sessions_of(agent);
        self.audit
            .audited(row, async { Ok(sessions.import(word).await?) })
            .await
    }

    /// Stores a message (D1) and hands it to its agent, with what was read of it meanwhile. When this returns, the message may be
    /// acknowledged.
    ///
    /// # Errors
    ///
    /// When the ledger did not take it: then it must not be acknowledged.
    pub(crate) async fn receive(
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
        if !self.servers.serves(agent.guild) {
            return Err(ManagerError::NotServed);
        }
        if self.directory.registry.get(agent.id).is_none() {
            return Err(ManagerError::NoAgentHere);
        }
        if self.deps.store.accept(&message).await? == Accepted::Known {
            return Ok(Received::Duplicate);
        }
        if let Some(command) = self.unless_held(agent, command(Box::new(message))) {
            self.deliver(agent, command).await?;
        }
        Ok(Received::Accepted)
    }

    /// Holds messages that are stored from now on.
    pub(crate) fn hold(&self) {
        *self.held.0.lock() = Some(Vec::new());
    }

    /// Lets those of one agent pass, or all from now on.
    pub(crate) async fn release(&self, agent: Option<AgentId>) {
        let released = {
            let mut held = self.held.0.lock();
            match (held.take(), agent) {
                (None, _) => Vec::new(),
                (Some(all), None) => all,
                (Some(all), Some(id)) => {
                    let (its, others) = all.into_iter().partition(|(agent, _)| agent.id == id);
                    *held = Some(others);
                    its
                }
            }
        };
        for (agent, command) in released {
            if let Err(error) = self.deliver(&agent, command).await {
                // It is in the ledger, which the next start reads.
                warn!(agent.id = %agent.id, "failed to hand over a message that was held: {error}");
            }
        }
    }

    /// Holds `command`, or returns it where nothing is held.
    pub(crate) fn unless_held(
        &self,
        agent: &AgentSummary,
        command: AgentCommand,
    ) -> Option<AgentCommand> {
        match &mut *self.held.0.lock() {
            Some(held) => {
                held.push((agent.clone(), command));
                None
            }
            None => Some(command),
        }
    }

    /// Somebody wrote in the channel of an agent or a thread below it, to the agent or not. An agent without an actor has
    /// no context whose silence would end.
    pub(crate) async fn activity(&self, agent: AgentId, channel: ChannelId) {
        if let Some(actor) = self.directory.registry.running(agent) {
            // One that ends in this moment need not know.
            let _ = actor.send(AgentCommand::Activity(channel)).await;
        }
    }

    /// Returns the turn, one of `asking`, whose conversation a message belongs to. The message was received before, so that the
    /// turn has it.
    pub(crate) async fn meant(
        &self,
        agent: &AgentSummary,
        message: Inbound,
        asking: Vec<TurnId>,
    ) -> Option<TurnId> {
        let actor = self.directory.registry.running(agent.id)?;
        let (reply, meant) = oneshot::channel();
        let command = AgentCommand::Meant(Box::new(message), asking, reply);
        actor.send(command).await.ok()?;
        meant.await.ok()?
    }

    /// Returns the conversation that a message belongs to, which is not handed over.
    pub(crate) async fn conversation_of(
        &self,
        agent: &AgentSummary,
        message: &Inbound,
    ) -> Option<ConversationId> {
        let (reply, belongs) = oneshot::channel();
        let command = AgentCommand::Belongs(Box::new(message.clone()), reply);
        self.deliver(agent, command).await.ok()?;
        belongs.await.ok()?
    }

    /// Hands a message that is in the ledger already to its agent again, after a start.
    ///
    /// # Errors
    ///
    /// When no agent takes it any more.
    pub(crate) async fn redeliver(&self, message: Inbound) -> Result<(), ManagerError> {
        let agent = self
            .directory
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
    pub(crate) async fn ask(
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
    pub(crate) async fn ask_in(
        &self,
        agent: &AgentSummary,
        message: Inbound,
        conversation: ConversationId,
    ) -> Result<Received, ManagerError> {
        let place = Place::Conversation(conversation);
        self.prompt(agent, message, place, Overrides::default())
            .await
    }

    pub(crate) async fn prompt(
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
    pub(crate) async fn edited(
        &self,
        message: MessageId,
        content: &str,
        attachments: Option<Vec<Attachment>>,
    ) -> Result<(), StoreError> {
        self.deps
            .store
            .update_queued(message, content, attachments)
            .await
            .map(drop)
    }

    /// Removes a message that was deleted while it waited.
    pub(crate) async fn deleted(&self, message: MessageId) -> Result<(), StoreError> {
        self.deps.store.drop_queued(message).await.map(drop)
    }

    /// Ends turns of an agent: at once, or with one last step in which they answer.
    ///
    /// # Errors
    ///
    /// When it is a sub-agent that works as an agent to which `by` has no access, or the ledger fails.
    pub(crate) async fn stop(
        &self,
        agent: &AgentSummary,
        target: Target,
        stop: Stop,
        by: &Person,
    ) -> Result<Stopped, ManagerError> {
        let Some(actor) = self.directory.registry.running(agent.id) else {
            return Ok(Stopped::Nothing);
        };
        let target = self.or_child_there(agent, target).await;
        self.access.may_stop(target, by).await?;
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
        match self.deps.store.child_in_thread(channel).await {
            Ok(Some(child)) if child.agent == agent.id => Target::ChildIn(child.id),
            Ok(_) => target,
            Err(error) => {
                warn!("failed to look up what a thread is of: {error}");
                target
            }
        }
    }

    /// Puts a command into an agent's mailbox; an actor that just ended is started again.
    pub(crate) async fn deliver(
        &self,
        agent: &AgentSummary,
        command: AgentCommand,
    ) -> Result<(), ManagerError> {
        if !self.servers.serves(agent.guild) {
            return Err(ManagerError::NotServed);
        }
        let mut command = command;
        for _ in 0..2 {
            self.gate.passes(agent.id).await;
            // Its present name: it may have been renamed meanwhile, or destroyed.
            let now = self.directory.registry.get(agent.id);
            let now = now.ok_or(ManagerError::NoAgentHere)?;
            match self.actor(&now)?.send(command).await {
                Ok(()) => return Ok(()),
                Err(back) => command = back,
            }
        }
        error!(agent.id = %agent.id, "the actor of {} ends as soon as it is made", agent.name);
        Err(ManagerError::Failed(
            "the agent does not accept messages; the operator finds the cause in the log"
                .to_owned(),
        ))
    }

    pub(crate) fn actor(&self, agent: &AgentSummary) -> Result<AgentHandle, ManagerError> {
        let channel = agent.channel.ok_or_else(|| {
            ManagerError::refused(format!(
                "Agent `{0}` has no channel. Use `/agent repair {0}`.",
                agent.name
            ))
        })?;
        Ok(self.directory.registry.actor(agent.id, || {
            agent::spawn(
                self.directory.registry.tasks(),
                Arc::clone(&self.deps),
                agent.id,
                agent.name.clone(),
                agent.guild,
                channel,
            )
        }))
    }

    /// Starts the actors of agents whose context was kept over a crash, so that their idle timers run.
    pub(crate) fn wake(&self, agents: &[crate::domain::AgentId]) -> Result<(), ManagerError> {
        for id in agents {
            if let Some(agent) = self.directory.registry.get(*id)
                && agent.channel.is_some()
                && self.servers.serves(agent.guild)
            {
                self.actor(&agent)?;
            }
        }
        Ok(())
    }

    /// Ends all turns and saves all contexts, for the end of the daemon.
    pub(crate) async fn shut_down(&self) -> Vec<SessionMeta> {
        let ended = self
            .directory
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
        self.directory.registry.actors_ended().await;
        saved
    }

    /// Ends the work of all agents of a server: turns end, contexts are saved, tasks are stopped.
    pub(crate) async fn end_work_in(&self, guild: GuildId) {
        for agent in self.directory.agents(guild) {
            if let Some(actor) = self.directory.registry.drop_actor(agent.id) {
                let (reply, saved) = oneshot::channel();
                let by = Stopper::Machine("the end of service in this server");
                let end = AgentCommand::Shutdown(by, reply);
                if actor.send(end).await.is_ok() {
                    // A reply that is dropped means that it has ended as well.
                    let _ = saved.await;
                }
            }
            self.tasks.end_all(agent.id).await;
        }
    }
}
