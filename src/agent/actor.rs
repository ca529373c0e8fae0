//! An agent while it lives in memory: its conversations, its timer, and the turns it starts and waits for.
//!
//! ```text
//! manager ──AgentCommand──▶ mailbox ─▶ Actor ──starts──▶ turn (one task for each running turn)
//!                                 │  ▲                 │
//!                    IdleTimer ───┘  └── TurnEnd ◀─────┘
//! ```
//!
//! The actor owns its turns: it ends them before it ends itself. It is made at an agent's first message and
//! ends when its last handle goes; what it knows is in the ledger, so nothing is lost with it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tracing::error;

use crate::clock;
use crate::domain::{ConversationId, Inbound};
use crate::store::{Conversation as Row, ConversationKind, StoreError};
use crate::text::escape;

use super::conversation::{Conversation, Items};
use super::deps::AgentDeps;
use super::event::Event;
use super::identity::Identity;
use super::idle_timer::{IdleFired, IdleTimer};
use super::mailbox::{AgentCommand, ConversationState, Mailbox, Place, Prompt, Target, Trigger};
use super::sessions::IdleSave;
use super::stop::{Stop, Stopper};
use super::turn::TurnEnd;

/// Why a message is answered by nobody that was written to an agent as it was destroyed.
const DESTROYED: &str = "its agent was destroyed";

/// An agent's run loop and all it holds.
pub(super) struct Actor {
    pub(super) mailbox: Mailbox,
    pub(super) idle: mpsc::UnboundedReceiver<IdleFired>,
    pub(super) work: JoinSet<Done>,
    pub(super) deps: Arc<AgentDeps>,
    pub(super) agent: Arc<Identity>,
    pub(super) timer: IdleTimer,
    pub(super) conversations: BTreeMap<ConversationId, Conversation>,
    pub(super) main: Option<ConversationId>,
    /// For whom the actor acts now: named on the cards of turns that it stops.
    pub(super) acts_for: Stopper,
    /// Letters that came while a summary was made, in their order.
    pub(super) deferred: VecDeque<AgentCommand>,
    /// Its contexts were saved because the agent goes; nothing begins any more.
    pub(super) is_destroyed: bool,
}

/// What the actor's own tasks come back with.
pub(super) enum Done {
    /// A turn ended.
    Turn(ConversationId, TurnEnd),
    /// What an idle save needs is there: summaries, had or failed, and sessions that hold it all already.
    IdleSave(IdleFired, Vec<(ConversationId, IdleSave)>),
}

/// Whether the run loop goes on.
pub(super) enum Flow {
    GoOn,
    End,
}

impl Actor {
    pub(super) async fn run(mut self) {
        if let Err(error) = self.load().await {
            self.trouble(None, &error);
        }
        loop {
            let flow = tokio::select! {
                biased;
                Some(done) = self.work.join_next(), if !self.work.is_empty() => {
                    self.work_done(done).await;
                    Flow::GoOn
                }
                command = next_letter(&mut self.deferred, &mut self.mailbox) => match command {
                    Some(command) => self.command(command).await,
                    None => Flow::End,
                },
                Some(fired) = self.idle.recv() => {
                    self.idle_fired(fired).await;
                    Flow::GoOn
                }
            };
            if let Flow::End = flow {
                break;
            }
        }
        self.acts_for = Stopper::Shutdown;
        self.end_turns(Target::All, Stop::Shutdown).await;
    }

    /// Reads which conversations are open; their items stay in the ledger until a turn needs them.
    async fn load(&mut self) -> Result<(), StoreError> {
        for row in self.deps.store.conversations(self.agent.id).await? {
            self.take_in(&row);
        }
        let latest = self
            .conversations
            .values()
            .map(|conversation| conversation.last_activity)
            .max();
        if let Some(latest) = latest
            && self
                .conversations
                .values()
                .any(|conversation| conversation.len() > 0)
        {
            self.timer.set_timeout(self.idle_timeout().await);
            self.timer.resume(latest, clock::now());
        }
        Ok(())
    }

    /// Takes an open conversation of the ledger into memory, without its items.
    pub(super) fn take_in(&mut self, row: &Row) -> ConversationId {
        let branch = (row.number > 0).then_some(row.number);
        if branch.is_none() {
            self.main = Some(row.id);
        }
        self.conversations
            .entry(row.id)
            .or_insert_with(|| Conversation {
                id: row.id,
                branch,
                channel: row.thread.unwrap_or(self.agent.channel),
                items: Items::Stored,
                calibration: Default::default(),
                len: Arc::new(AtomicUsize::new(row.items as usize)),
                saved: row.saved_items as usize,
                last_activity: row.last_active_at,
                turn: None,
                waiting: Default::default(),
            });
        row.id
    }

    async fn command(&mut self, command: AgentCommand) -> Flow {
        match command {
            AgentCommand::Message(message) => self.message(*message).await,
            AgentCommand::Prompt(prompt) => self.prompt(*prompt).await,
            AgentCommand::Activity(channel) => self.activity_in(channel),
            AgentCommand::Stop(target, stop, by, reply) => {
                self.acts_for = by;
                let _ = reply.send(self.stop_for(target, stop));
            }
            AgentCommand::Context(target, by, action) => {
                self.acts_for = by;
                self.context_action(target, action).await;
                self.go_on_everywhere().await;
            }
            AgentCommand::CloseBranches(target, by, reply) => {
                self.acts_for = by;
                let _ = reply.send(self.close_branches(target).await);
                self.go_on_everywhere().await;
            }
            AgentCommand::Status(reply) => {
                let _ = reply.send(self.states());
            }
            AgentCommand::Close(reply) => {
                self.acts_for = Stopper::Machine("a change of the agent");
                self.end_turns(Target::All, Stop::Abort).await;
                self.work_off().await;
                self.take_the_rest().await;
                let _ = reply.send(());
                return Flow::End;
            }
            AgentCommand::SaveForDestroy(reply) => {
                self.acts_for = Stopper::Machine("the end of the agent");
                self.end_turns(Target::All, Stop::Abort).await;
                let saved = self.save_for_destroy().await;
                match saved {
                    Ok(_) => {
                        self.is_destroyed = true;
                        self.set_aside_all(DESTROYED).await;
                    }
                    Err(_) => self.go_on_everywhere().await,
                }
                let _ = reply.send(saved);
            }
            AgentCommand::Shutdown(reply) => {
                self.acts_for = Stopper::Shutdown;
                self.end_turns(Target::All, Stop::Shutdown).await;
                let _ = reply.send(self.save_for_shutdown().await);
                return Flow::End;
            }
        }
        Flow::GoOn
    }

    /// Takes messages that came while this ended: whoever sent them was told that they are with the agent.
    async fn take_the_rest(&mut self) {
        self.mailbox.close();
        while let Some(command) = next_letter(&mut self.deferred, &mut self.mailbox).await {
            match command {
                AgentCommand::Message(message) if self.is_destroyed => {
                    self.set_message_aside(message.id, DESTROYED).await;
                }
                AgentCommand::Message(message) => self.message(*message).await,
                AgentCommand::Prompt(prompt) if self.is_destroyed => {
                    if let Some(message) = prompt.trigger.id() {
                        self.set_message_aside(message, DESTROYED).await;
                    }
                }
                AgentCommand::Prompt(prompt) => self.prompt(*prompt).await,
                // Whoever waits for an answer learns that there is none.
                AgentCommand::Activity(_)
                | AgentCommand::Stop(..)
                | AgentCommand::Context(..)
                | AgentCommand::CloseBranches(..)
                | AgentCommand::Status(_)
                | AgentCommand::Close(_)
                | AgentCommand::Shutdown(_)
                | AgentCommand::SaveForDestroy(_) => {}
            }
        }
        self.work_off().await;
    }

    /// How all conversations stand.
    pub(super) fn states(&self) -> Vec<ConversationState> {
        let all = self.conversations.values();
        all.map(Conversation::state).collect()
    }

    /// A person's message: it steers the turn that runs in its conversation, or starts one.
    async fn message(&mut self, message: Inbound) {
        self.timer.reset();
        let channel = message.channel_id;
        match self.conversation_for(&message).await {
            Ok(id) => self.give(id, Trigger::message(message)).await,
            Err(error) => self.trouble(Some(channel), &error),
        }
    }

    /// Where a message belongs: its thread's branch, the branch of the message it replies to, else the main one.
    async fn conversation_for(&mut self, message: &Inbound) -> Result<ConversationId, StoreError> {
        if message.parent_id.is_some() {
            return self.thread(message.channel_id, &message.content).await;
        }
        if let Some(replied) = message.reply_to
            && let Some(row) = self.deps.store.conversation_of_message(replied).await?
            && row.agent == self.agent.id
            && row.number > 0
            && row.closed_at.is_none()
        {
            return Ok(self.take_in(&row));
        }
        self.main().await
    }

    pub(super) async fn main(&mut self) -> Result<ConversationId, StoreError> {
        if let Some(main) = self.main {
            return Ok(main);
        }
        let row = self
            .deps
            .store
            .open_conversation(self.agent.id, ConversationKind::Root)
            .await?;
        Ok(self.take_in(&row))
    }

    /// The branch that lives in a thread; opened with the thread's first message.
    async fn thread(
        &mut self,
        thread: crate::domain::ChannelId,
        prompt: &str,
    ) -> Result<ConversationId, StoreError> {
        let here = self
            .conversations
            .values()
            .find(|conversation| conversation.channel == thread);
        if let Some(conversation) = here {
            return Ok(conversation.id);
        }
        let row = match self.deps.store.conversation_by_thread(thread).await? {
            Some(row) if row.agent == self.agent.id => row,
            _ => self.open_branch(Some(thread), prompt).await?,
        };
        Ok(self.take_in(&row))
    }

    async fn open_branch(
        &self,
        thread: Option<crate::domain::ChannelId>,
        prompt: &str,
    ) -> Result<Row, StoreError> {
        let prompt = crate::text::one_line(prompt, 200);
        let kind = ConversationKind::Branch { thread, prompt };
        self.deps.store.open_conversation(self.agent.id, kind).await
    }

    async fn prompt(&mut self, mut prompt: Prompt) {
        self.timer.reset();
        let place = match prompt.place {
            Place::NewBranch(thread) => match self.open_branch(thread, prompt.trigger.text()).await
            {
                Ok(row) => {
                    if let Some(opened) = prompt.opened.take() {
                        let _ = opened.send(row.number);
                    }
                    Ok(self.take_in(&row))
                }
                Err(error) => Err(error),
            },
            Place::Channel(channel) if channel != self.agent.channel => {
                self.thread(channel, prompt.trigger.text()).await
            }
            Place::Conversation(id) if self.conversations.contains_key(&id) => Ok(id),
            Place::Channel(_) | Place::Conversation(_) => self.main().await,
        };
        match place {
            Ok(id) => self.give(id, prompt.trigger).await,
            Err(error) => self.trouble(Some(self.agent.channel), &error),
        }
    }

    /// Tells people that the ledger itself failed: without it nothing else can be promised.
    pub(super) fn trouble(&self, channel: Option<crate::domain::ChannelId>, error: &StoreError) {
        error!(agent.id = %self.agent.id, "failed to use the ledger: {error}");
        let channel = channel.unwrap_or(self.agent.channel);
        self.deps.emit(Event::Say {
            channel,
            reply_to: None,
            text: escape::sentence(&format!(
                "I could not store that: {error}. Nothing was done; please send it again later."
            )),
        });
    }
}

/// What was put off comes before what came later.
async fn next_letter(
    deferred: &mut VecDeque<AgentCommand>,
    mailbox: &mut Mailbox,
) -> Option<AgentCommand> {
    match deferred.pop_front() {
        Some(command) => Some(command),
        None => mailbox.recv().await,
    }
}
