//! An agent while it lives in memory: its conversations, its timer, and the turns it starts and waits for.
//!
//! ```text
//! manager ──AgentCommand──▶ mailbox ─▶ Actor ──starts──▶ turn (one task for each running turn)
//!                                 │  ▲                 │
//!            IdleTimer's task ───┘  └── TurnEnd ◀─────┘
//! ```
//!
//! There is one event loop. Whatever takes time is a task in `work`: turns, and the summaries that a context command or the
//! closing of a branch waits for. Such a job holds up its own conversation and no other.
//!
//! The actor owns its turns: it ends them before it ends itself. It is made at an agent's first message and ends when its
//! last handle is dropped; everything it knows is in the ledger, so nothing is lost with it.

mod branches;
mod child_threads;
mod closing;
mod compaction;
mod contexts;
mod ending;
mod idle;
mod jobs;
mod reports;
mod running;

use std::collections::{BTreeMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use futures_util::FutureExt as _;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{Id, JoinError, JoinSet};
use tokio_util::task::TaskTracker;
use tracing::{Instrument, error, info_span, warn};

use crate::agent::conversation::job::JobKind;
use crate::agent::conversation::mailbox::{AgentCommand, ConversationState};
use crate::agent::conversation::saving::{EndSaving, IdleSave, IdleSaving};
use crate::agent::conversation::{Conversation, Items};
use crate::agent::deps::AgentDeps;
use crate::agent::deps::identity::Identity;
use crate::agent::event::Event;
use crate::agent::files::beginning::Beginning;
use crate::agent::files::seed::Seed;
use crate::agent::idle_timer::{IdleFired, IdleTask, IdleTimer};
use crate::agent::run;
use crate::agent::sessions::{SessionError, SessionManager, Summary};
use crate::agent::stop::Stopper;
use crate::agent::turn::TurnEnd;
use crate::agent::turn::trigger::Trigger;
use crate::clock;
use crate::domain::{
    AgentId, AgentName, ChannelId, ConversationId, GuildId, Inbound, SessionMeta, TurnId,
};
use crate::store::{ConversationRow, StoreError};
use crate::text::escape;

/// Prompts an agent holds before senders wait.
///
/// A person types slower than this fills; a full mailbox means a stuck actor, and waiting
/// shows that to the sender sooner than a longer queue would.
const CAPACITY: usize = 64;

/// The way to an agent's actor. Dropping all handles ends it.
#[derive(Clone, Debug)]
pub struct AgentHandle {
    sender: mpsc::Sender<AgentCommand>,
}

/// The actor's end of the mailbox.
type Mailbox = mpsc::Receiver<AgentCommand>;

/// Makes a handle and the mailbox that it sends to.
fn mailbox() -> (AgentHandle, Mailbox) {
    let (sender, receiver) = mpsc::channel(CAPACITY);
    (AgentHandle { sender }, receiver)
}

impl AgentHandle {
    /// Puts `command` into the mailbox, waiting while it is full.
    ///
    /// # Errors
    ///
    /// The command comes back when the actor has ended; a new one must be made.
    pub async fn send(&self, command: AgentCommand) -> Result<(), AgentCommand> {
        self.sender.send(command).await.map_err(|back| back.0)
    }

    /// Whether the actor has ended.
    pub fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }
}

/// Makes an agent's actor, as one of the tasks of `actors`. It lives until its last handle is dropped or it is told to end.
pub fn spawn(
    actors: &TaskTracker,
    deps: Arc<AgentDeps>,
    id: AgentId,
    name: AgentName,
    guild: GuildId,
    channel: ChannelId,
) -> AgentHandle {
    let (handle, mailbox) = mailbox();
    let timer = IdleTimer::new(None);
    let agent = Arc::new(Identity {
        id,
        name,
        guild,
        channel,
        timer: timer.clone(),
    });
    let span = info_span!(parent: None, "agent", agent.id = %id, agent.name = %agent.name);
    let actor = Actor {
        mailbox,
        mailbox_is_over: false,
        work: JoinSet::new(),
        replies: JoinSet::new(),
        sessions: deps.sessions(&agent),
        deps,
        agent,
        idle_task: IdleTask::start(timer.clone()),
        timer,
        conversations: BTreeMap::new(),
        main: None,
        replayed: VecDeque::new(),
        strays: Strays::default(),
        idle_saving: None,
        ending: None,
        wait_for_end: Vec::new(),
        is_destroyed: false,
        unanswered: Vec::new(),
    };
    actors.spawn(actor.run().instrument(span));
    handle
}

/// An agent's run loop and all it holds.
struct Actor {
    mailbox: Mailbox,
    /// The mailbox is closed and empty.
    mailbox_is_over: bool,
    work: JoinSet<Done>,
    /// Tasks that answer a command about several conversations once all of them are done.
    replies: JoinSet<()>,
    deps: Arc<AgentDeps>,
    agent: Arc<Identity>,
    timer: IdleTimer,
    /// Waits for the timer beside the event loop.
    idle_task: IdleTask,
    /// The saved conversations of the agent: session files and their rows.
    sessions: SessionManager,
    /// Boxed, since a node of the map has room for eleven and most agents have one.
    conversations: BTreeMap<ConversationId, Box<Conversation>>,
    main: Option<ConversationId>,
    /// Deferred commands that may be handled now: they come before what is in the mailbox.
    replayed: VecDeque<AgentCommand>,
    /// Messages to child turns that arrived after these had ended.
    strays: Strays,
    /// The save that began after a silence; dropped when somebody writes.
    idle_saving: Option<IdleSaving>,
    /// How the agent is being ended, while it is.
    ending: Option<Ending>,
    /// Those who wait for the end of this actor.
    wait_for_end: Vec<oneshot::Sender<()>>,
    /// Its contexts were saved because the agent is being destroyed; nothing begins any more.
    is_destroyed: bool,
    /// Messages and prompts that came after that. They are dropped once the agent is closed; until its destruction is
    /// stored, it may still be spared.
    unanswered: Vec<AgentCommand>,
}

/// Where messages to child turns come back that arrived too late, and where the actor receives them. A queue has room for
/// 32 from the beginning, so messages are boxed.
struct Strays(
    mpsc::UnboundedSender<Box<Inbound>>,
    mpsc::UnboundedReceiver<Box<Inbound>>,
);

impl Default for Strays {
    fn default() -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        Self(sender, receiver)
    }
}

/// What the actor's own tasks return.
enum Done {
    Turn(ConversationId, TurnEnd),
    /// The summary to save a conversation with, made or failed.
    Summary(ConversationId, Summary),
    /// The summary that replaces the older part of a conversation in a compaction by hand, if it could be made.
    Compaction(ConversationId, Option<String>),
    /// What an idle save needs: summaries, made or failed, and sessions that hold everything already.
    IdleSave(IdleFired, Vec<(ConversationId, IdleSave)>),
    /// The contexts that could be saved because the agent ends.
    LastSave(Vec<LastSave>),
}

/// How an agent's actor ends.
enum Ending {
    /// Its last handle was dropped: it ends as soon as nothing runs.
    Forgotten,
    /// Something about the agent changes: it ends as soon as everything that was sent to it is done.
    Close,
    /// The agent is destroyed: its contexts are saved first. Where that fails, the agent lives on.
    Destroy {
        reply: oneshot::Sender<Result<Vec<SessionMeta>, SessionError>>,
        saving: Option<EndSaving>,
        /// Commands that came meanwhile.
        kept: Vec<AgentCommand>,
    },
    /// The daemon stops: its contexts are saved first.
    Shutdown {
        reply: oneshot::Sender<Vec<SessionMeta>>,
        saving: Option<EndSaving>,
    },
}

/// Whether the event loop continues.
enum Flow {
    GoOn,
    End,
}

/// The outcome of saving one context because the agent ends.
type LastSave = Result<SessionMeta, SessionError>;

impl Actor {
    async fn run(mut self) {
        if let Err(error) = Box::pin(self.load()).await {
            self.trouble(None, &error);
        }
        loop {
            // A panic ends what was being done, not the agent.
            match AssertUnwindSafe(self.step()).catch_unwind().await {
                Ok(Flow::GoOn) => {}
                Ok(Flow::End) => break,
                Err(_) if self.ending.is_some() => break,
                Err(_) => self.tell_of_panic(),
            }
        }
        // Whatever still waits in them will not be done.
        self.conversations.clear();
        self.replayed.clear();
        while self.replies.join_next().await.is_some() {}
        self.idle_task.end().await;
        for waiting in self.wait_for_end {
            let _ = waiting.send(());
        }
    }

    /// Handles the next event. The memory that this takes is allocated only while it runs: an agent that waits, as most do,
    /// holds none of it.
    async fn step(&mut self) -> Flow {
        if self.is_over().await {
            return Flow::End;
        }
        tokio::select! {
            biased;
            Some(done) = self.work.join_next(), if !self.work.is_empty() => Box::pin(self.work_done(done)).await,
            Some(_) = self.replies.join_next(), if !self.replies.is_empty() => {}
            Some(stray) = self.strays.1.recv() => self.replayed.push_back(AgentCommand::Message(stray, None)),
            command = next_command(&mut self.replayed, &mut self.mailbox), if self.may_hear() => {
                match command {
                    Some(command) => Box::pin(self.command(command)).await,
                    None => self.mailbox_is_over = true,
                }
            }
            Some(fired) = self.idle_task.next() => Box::pin(self.idle_fired(fired)).await,
        }
        Flow::GoOn
    }

    /// The panic itself is in the log already.
    fn tell_of_panic(&self) {
        error!(agent.id = %self.agent.id, "failed to finish what {} was asked for: it panicked", self.agent.name);
        self.deps.emit(Event::Say {
            channel: self.agent.channel,
            reply_to: None,
            text: run::BROKEN.to_owned(),
        });
    }

    fn may_hear(&self) -> bool {
        !self.mailbox_is_over || !self.replayed.is_empty()
    }

    /// One of the actor's tasks ended; what waited for it continues.
    async fn work_done(&mut self, done: Result<Done, JoinError>) {
        match done {
            Ok(Done::Turn(id, end)) => {
                let said_nothing = end.said_nothing;
                self.take_back(id, end);
                self.report_of_branch(id).await;
                if said_nothing {
                    self.close_unsaid(id).await;
                }
                self.turn_is_over(id).await;
            }
            Ok(Done::Summary(id, summary)) => self.summed_up(id, summary).await,
            Ok(Done::Compaction(id, summary)) => self.compacted(id, summary).await,
            Ok(Done::IdleSave(fired, saves)) => self.save_idle_contexts(fired, saves).await,
            Ok(Done::LastSave(saves)) => self.saved_last(Ok(saves)).await,
            Err(panic) => self.work_broke_off(&panic).await,
        }
    }

    /// A task panicked: its conversation continues without the task's result.
    async fn work_broke_off(&mut self, panic: &JoinError) {
        error!(agent.id = %self.agent.id, "a task of {} panicked: {panic}", self.agent.name);
        let job = self.conversations.values().find_map(|conversation| {
            let job = conversation.job.as_ref()?;
            job.waits_for(panic.id())
                .then_some((conversation.id, &job.kind))
        });
        match job {
            Some((id, JobKind::Compact { .. })) => self.compacted(id, None).await,
            Some((id, _)) => self.summed_up(id, Summary::Failed).await,
            None if self.saves_in(panic.id()) => {
                self.saved_last(Err(SessionError::Stopping)).await;
            }
            None if self.saves_after_silence_in(panic.id()) => {
                self.idle_saving = None;
                self.rearm().await;
            }
            None => {
                if let Some(id) = self.turn_broke_off(panic.id()).await {
                    self.report_of_branch(id).await;
                    self.turn_is_over(id).await;
                }
            }
        }
    }

    /// Whether this task saves contexts at the end.
    fn saves_in(&self, task: Id) -> bool {
        match &self.ending {
            Some(Ending::Destroy { saving, .. } | Ending::Shutdown { saving, .. }) => {
                saving.as_ref().is_some_and(|saving| saving.task == task)
            }
            Some(Ending::Close | Ending::Forgotten) | None => false,
        }
    }

    /// Reads which conversations are open; their items stay in the ledger until a turn needs them.
    async fn load(&mut self) -> Result<(), StoreError> {
        for row in self.deps.store.conversations(self.agent.id).await? {
            if branches::is_over(&row) {
                self.deps.store.close_conversation(row.id).await?;
                continue;
            }
            self.take_in(&row);
        }
        let latest = self
            .conversations
            .values()
            .map(|conversation| conversation.last_activity)
            .max();
        if let Some(latest) = latest
            // Until that is decided, an interrupted turn is no silence.
            && !self.deps.interruptions.is_undecided(self.agent.id)
            && self
                .conversations
                .values()
                .any(|conversation| conversation.len() > 0 && conversation.plan.is_none())
        {
            self.timer.set_timeout(self.idle_timeout().await);
            self.timer.resume(latest, clock::now());
        }
        Ok(())
    }

    /// Takes an open conversation of the ledger into memory, without its items.
    fn take_in(&mut self, row: &ConversationRow) -> ConversationId {
        let branch = (row.number > 0).then_some(row.number);
        if branch.is_none() {
            self.main = Some(row.id);
        }
        self.conversations.entry(row.id).or_insert_with(|| {
            Box::new(Conversation {
                id: row.id,
                branch,
                channel: row.thread.unwrap_or(self.agent.channel),
                role: row.role.clone(),
                reports_to: row.reports_to,
                plan: row.plan.clone(),
                items: match row.items {
                    0 => Items::Here(Arc::default()),
                    _ => Items::Stored,
                },
                has_kept_notes: Arc::new(AtomicBool::new(row.has_kept_notes)),
                seed: Seed::of(row.seed.as_deref()),
                calibration: Default::default(),
                len: Arc::new(AtomicUsize::new(row.items as usize)),
                saved: row.saved_items as usize,
                last_activity: row.last_active_at,
                turn: None,
                waiting: Default::default(),
                job: None,
                deferred: Default::default(),
            })
        });
        row.id
    }

    async fn command(&mut self, command: AgentCommand) {
        let Some(command) = self.admit(command) else {
            return;
        };
        match command {
            AgentCommand::Message(message, ahead) => self.message(message, ahead).await,
            AgentCommand::Prompt(prompt) => self.prompt(*prompt).await,
            AgentCommand::Activity(channel) => self.activity_in(channel),
            AgentCommand::Meant(message, asking, reply) => {
                let _ = reply.send(self.hears_while_asking(&message, &asking).await);
            }
            AgentCommand::Belongs(message, reply) => {
                let belongs = self.conversation_for(&message).await;
                if let Err(error) = &belongs {
                    warn!(agent.id = %self.agent.id, "failed to look up where a message belongs: {error}");
                }
                let _ = reply.send(belongs.ok());
            }
            AgentCommand::Stop(target, stop, by, reply) => {
                let meant = self.turns_meant(target);
                let stopped = self.stop_for(target, stop, &by);
                if by.person().is_some() {
                    self.note_stops(&meant).await;
                }
                let _ = reply.send(stopped);
            }
            AgentCommand::Context(target, by, action) => {
                self.context_action(target, by, action).await;
            }
            AgentCommand::CloseBranches(target, by, reply) => {
                self.close_branches(target, &by, reply).await;
            }
            AgentCommand::Report(branch) => self.report_of_branch(branch).await,
            AgentCommand::GetReady => {
                let (deps, agent) = (Arc::clone(&self.deps), Arc::clone(&self.agent));
                self.replies
                    .spawn(async move { deps.read_ahead(&agent).await });
            }
            AgentCommand::Status(reply) => {
                let _ = reply.send(self.states());
            }
            AgentCommand::Close(reply) => {
                self.wait_for_end.push(reply);
                let by = Stopper::Machine("a change of the agent");
                self.end(Ending::Close, &by).await;
            }
            AgentCommand::SaveForDestroy(by, reply) => {
                let ending = Ending::Destroy {
                    reply,
                    saving: None,
                    kept: Vec::new(),
                };
                self.end(ending, &by).await;
            }
            AgentCommand::Spared => self.go_on_as_before().await,
            AgentCommand::Shutdown(by, reply) => {
                let ending = Ending::Shutdown {
                    reply,
                    saving: None,
                };
                self.end(ending, &by).await;
            }
        }
    }

    /// Whether a command for a conversation has to wait for the end of a job.
    fn defers(&self, id: ConversationId) -> bool {
        let conversation = self.conversations.get(&id);
        conversation.is_some_and(|one| one.defers())
    }

    /// Keeps a command until the job of its conversation is done.
    fn defer(&mut self, id: ConversationId, command: AgentCommand) {
        if let Some(conversation) = self.conversations.get_mut(&id) {
            conversation.deferred.push_back(command);
        }
    }

    /// The states of all conversations.
    fn states(&self) -> Vec<ConversationState> {
        let all = self.conversations.values();
        all.map(|one| one.state()).collect()
    }

    /// A person's message: it steers the running turn of its conversation, or starts one.
    async fn message(&mut self, message: Box<Inbound>, ahead: Option<Box<Beginning>>) {
        if self.is_destroyed {
            let command = AgentCommand::Message(message, None);
            return self.leave_unanswered(command).await;
        }
        self.silence_is_over();
        let channel = message.channel_id;
        let message = match self.give_to_child(message).await {
            Ok(None) => return,
            Ok(Some(message)) => message,
            Err(error) => return self.trouble(Some(channel), &error),
        };
        match self.conversation_for(&message).await {
            Ok(id) if self.defers(id) => {
                self.defer(id, AgentCommand::Message(message, None));
            }
            Ok(id) => {
                // What was read as a message came is not kept while it waits.
                let has_waited = ahead.is_none();
                let trigger = Trigger::message(message);
                self.give(
                    id,
                    Trigger {
                        ahead,
                        has_waited,
                        ..trigger
                    },
                );
            }
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
            && !branches::is_over(&row)
        {
            return Ok(self.take_in(&row));
        }
        self.main().await
    }

    /// Returns the turn, one of `asking`, that has the message. The sender gives the message its sign at once: the turn waits for
    /// people and looks at it only afterwards.
    async fn hears_while_asking(&mut self, message: &Inbound, asking: &[TurnId]) -> Option<TurnId> {
        let id = match self.conversation_for(message).await {
            Ok(id) => id,
            Err(error) => {
                warn!(agent.id = %self.agent.id, "failed to look up whose question a message answers: {error}");
                return None;
            }
        };
        let running = self.conversations.get(&id)?.turn.as_ref()?;
        if !asking.contains(&running.id) {
            return None;
        }
        running
            .progress
            .send_modify(|progress| progress.signed.push(message.id));
        Some(running.id)
    }

    async fn main(&mut self) -> Result<ConversationId, StoreError> {
        if let Some(main) = self.main {
            return Ok(main);
        }
        let row = self.deps.store.main_conversation(self.agent.id).await?;
        Ok(self.take_in(&row))
    }

    /// Tells people that the ledger itself failed: without it nothing else can be promised.
    fn trouble(&self, channel: Option<ChannelId>, error: &StoreError) {
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

/// Deferred commands come before newer ones.
async fn next_command(
    replayed: &mut VecDeque<AgentCommand>,
    mailbox: &mut Mailbox,
) -> Option<AgentCommand> {
    match replayed.pop_front() {
        Some(command) => Some(command),
        None => mailbox.recv().await,
    }
}
