//! The way in: one queue per channel, so that messages reach an agent in the order they were written.
//!
//! After each new connection a channel's first business is what was missed: its past is read from the ledger's cursor
//! on before anything new is taken, by the same path. A message that comes twice is one message, here and in the ledger.

mod past;

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serenity::all::{Attachment, Message};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{Instrument as _, debug, error};

use super::bot::Bot;
use super::catch_up::{self, Place};
use super::inbound::{self, BotLoops, Bots, Ignored};
use super::{access, people};
use crate::agent::Members as _;
use crate::domain::{ChannelId, GuildId, MessageId, Person, UserId};
use crate::manager::{AgentSummary, Received};
use crate::store::StoreError;

/// Message ids remembered per channel: serenity reports each message twice to us.
const REMEMBERED: usize = 64;

/// How long a new session's servers may take to be described.
const DESCRIBED_WITHIN: Duration = Duration::from_secs(30);

/// How often it is looked whether they are.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// One thing that happened in a channel.
#[derive(Debug)]
pub(super) enum Arrival {
    /// A message was written.
    Message(Box<Message>),
    /// A message's text was changed, and perhaps its files.
    Edited(MessageId, String, Option<Vec<Attachment>>),
    /// A message was deleted.
    Deleted(MessageId),
    /// Discord says that there is something newer here than the ledger knows.
    Place(GuildId),
    /// The connection was resumed: look for what the replay may have missed.
    Recheck,
}

/// All channels' queues.
pub(super) struct Ingress {
    bot: Bot,
    queues: HashMap<ChannelId, UnboundedSender<Arrival>>,
    shared: Arc<Shared>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// What the queues share.
#[derive(Default)]
pub(super) struct Shared {
    /// Counts connections; a channel that has not caught up with the latest does so first.
    epoch: AtomicU64,
    caught_up: Mutex<HashMap<ChannelId, u64>>,
    loops: Mutex<BotLoops>,
}

impl Shared {
    fn is_caught_up(&self, channel: ChannelId) -> bool {
        let caught_up = self
            .caught_up
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        caught_up.get(&channel) == Some(&self.epoch.load(Ordering::Relaxed))
    }

    /// Nothing of this channel's past is missing.
    fn mark_caught_up(&self, channel: ChannelId) {
        let epoch = self.epoch.load(Ordering::Relaxed);
        let mut caught_up = self
            .caught_up
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        caught_up.insert(channel, epoch);
    }

    /// Something of this channel's past may be missing.
    fn mark_behind(&self, channel: ChannelId) {
        let mut caught_up = self
            .caught_up
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        caught_up.remove(&channel);
    }

    fn loops<T>(&self, act: impl FnOnce(&mut BotLoops) -> T) -> T {
        act(&mut self.loops.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Ingress {
    pub(super) fn new(bot: Bot, shared: Arc<Shared>, stop: CancellationToken) -> Self {
        Self {
            bot,
            queues: HashMap::new(),
            shared,
            tasks: TaskTracker::new(),
            stop,
        }
    }

    /// A new connection: every channel may have missed something.
    pub(super) fn connected_anew(&self) {
        self.shared.epoch.fetch_add(1, Ordering::Relaxed);
    }

    /// The old connection goes on: channels that were in use look again.
    pub(super) fn resumed(&mut self) {
        for queue in self.queues.values() {
            // A queue that has ended has nothing to look for.
            let _ = queue.send(Arrival::Recheck);
        }
    }

    /// A channel or thread as Discord describes it after connecting. Without anything missed, no queue is made.
    pub(super) fn place(&mut self, guild: GuildId, place: Place) {
        if catch_up::read_after(&place).is_none() && !self.queues.contains_key(&place.channel) {
            self.shared.mark_caught_up(place.channel);
            return;
        }
        self.arrive(place.channel, Arrival::Place(guild));
    }

    /// Something happened to a message of a channel; where none was taken since the start, there is nothing to do.
    pub(super) fn arrive_if_known(&mut self, channel: ChannelId, arrival: Arrival) {
        if self.queues.contains_key(&channel) {
            self.arrive(channel, arrival);
        }
    }

    pub(super) fn arrive(&mut self, channel: ChannelId, arrival: Arrival) {
        let queue = self.queues.entry(channel).or_insert_with(|| {
            let (sender, inbox) = mpsc::unbounded_channel();
            let queue = Queue {
                inbox,
                bot: self.bot.clone(),
                shared: Arc::clone(&self.shared),
                channel,
                guild: None,
                recent: VecDeque::new(),
                authors: HashMap::new(),
                stop: self.stop.clone(),
            };
            let span = tracing::info_span!("inbound", channel.id = %channel);
            self.tasks.spawn(queue.run().instrument(span));
            sender
        });
        if queue.send(arrival).is_err() {
            debug!(channel.id = %channel, "nothing more is taken in {channel}");
        }
    }

    /// Waits until all queues have ended; they do when `stop` is cancelled.
    pub(super) async fn finish(self) {
        drop(self.queues);
        self.tasks.close();
        self.tasks.wait().await;
    }
}

struct Queue {
    inbox: UnboundedReceiver<Arrival>,
    bot: Bot,
    shared: Arc<Shared>,
    channel: ChannelId,
    guild: Option<GuildId>,
    recent: VecDeque<MessageId>,
    /// Authors of the past that is being read: asked for once each.
    authors: HashMap<UserId, Option<Person>>,
    stop: CancellationToken,
}

impl Queue {
    async fn run(mut self) {
        let stop = self.stop.clone();
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                arrival = self.inbox.recv() => match arrival {
                    Some(arrival) => self.take(arrival).await,
                    None => break,
                },
            }
        }
    }

    async fn take(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Message(message) => self.message(*message).await,
            Arrival::Edited(id, content, files) => {
                let files = files
                    .unwrap_or_default()
                    .iter()
                    .map(inbound::to_attachment)
                    .collect();
                let edited = self.bot.manager.edited(id, &content, files).await;
                log_failure(edited, "an edit was not kept");
            }
            Arrival::Deleted(id) => log_failure(
                self.bot.manager.deleted(id).await,
                "a deletion was not kept",
            ),
            Arrival::Place(guild) => {
                self.guild = Some(guild);
                if !self.shared.is_caught_up(self.channel) {
                    self.catch_up(guild).await;
                }
            }
            Arrival::Recheck => match self.guild {
                Some(guild) if self.server_is_known(guild).await => self.catch_up(guild).await,
                Some(_) | None => self.shared.mark_behind(self.channel),
            },
        }
    }

    async fn message(&mut self, message: Message) {
        let Some(guild) = message.guild_id.map(|id| GuildId(id.get())) else {
            debug!(reason = ?Ignored::Direct, "a message was ignored");
            return;
        };
        self.guild = Some(guild);
        if !self.server_is_known(guild).await {
            // It is read once the server is described.
            return self.shared.mark_behind(self.channel);
        }
        if self.agent(guild).is_none() {
            return;
        }
        if !self.shared.is_caught_up(self.channel) {
            self.catch_up(guild).await;
        }
        if self.stop.is_cancelled() {
            // The past may not have been read; the next start reads both.
            return;
        }
        self.ingest(guild, message).await;
    }

    /// Waits until Discord has described the server: without that, neither threads nor people's rights are known.
    async fn server_is_known(&self, guild: GuildId) -> bool {
        let known = async {
            while !self.bot.knows(guild) {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        };
        tokio::time::timeout(DESCRIBED_WITHIN, known).await.is_ok()
    }

    async fn ingest(&mut self, guild: GuildId, message: Message) {
        let id = MessageId(message.id.get());
        if self.recent.contains(&id) {
            return;
        }
        self.recent.push_back(id);
        if self.recent.len() > REMEMBERED {
            self.recent.pop_front();
        }
        if let Some(why) = self.ignored(&message) {
            debug!(message.id = %id, reason = ?why, "a message was ignored");
            if why == Ignored::NoContent {
                self.bot.tell_operator("message-content", NO_CONTENT);
            }
            return;
        }
        let Some(author) = self.author(guild, &message).await else {
            debug!(message.id = %id, "a message was ignored: its author is no member");
            return;
        };
        let Some(agent) = self.agent(guild) else {
            return;
        };
        if !access::may_talk(&author, &self.bot.access_roles(&agent)) {
            debug!(message.id = %id, "a message was ignored: its author has no access");
            return;
        }
        let parent = self.bot.parent_of(guild, self.channel);
        let inbound = inbound::to_inbound(&message, guild, parent, author);
        let span = tracing::info_span!("message", message.id = %id, agent.id = %agent.id);
        let received = self.bot.manager.receive(inbound).instrument(span).await;
        match received {
            Ok(Received::Accepted | Received::Duplicate | Received::NoAgent) => {}
            Err(error) => {
                error!(%error, message.id = %id, "a message could not be taken");
                let body =
                    super::body::Body::text(format!("⚠️ I could not take that message: {error}"));
                // Without the ledger this line is all there is.
                let _ = self.bot.rest.post(self.channel, &body).await;
            }
        }
    }

    fn ignored(&self, message: &Message) -> Option<Ignored> {
        let bots = match self.bot.config.load().allow_bots {
            true => Bots::Answered,
            false => Bots::Ignored,
        };
        if let Some(why) = inbound::ignored(message, self.bot.own.0, bots) {
            return Some(why);
        }
        let channel = self.channel;
        if !inbound::is_bot(message) {
            self.shared.loops(|loops| loops.person_spoke(channel));
            return None;
        }
        let goes_on = self
            .shared
            .loops(|loops| loops.lets_through(channel, Instant::now()));
        (!goes_on).then_some(Ignored::Bot)
    }

    /// Whether a message that was passed over would have been taken.
    fn counts(&self, message: &Message) -> bool {
        inbound::ignored(message, self.bot.own.0, Bots::Ignored).is_none()
    }

    /// Who wrote it, with the roles that came with it or that Discord names now.
    async fn author(&mut self, guild: GuildId, message: &Message) -> Option<Person> {
        let user = message.author.id.get();
        if message.webhook_id.is_some() {
            return Some(stranger(message));
        }
        if let Some(member) = &message.member {
            let cache = self.bot.cache()?;
            let picture = cache.guild(guild.0)?;
            let name = member
                .nick
                .as_deref()
                .or(message.author.global_name.as_deref())
                .unwrap_or(&message.author.name);
            return Some(people::person(&picture, user, name, &member.roles));
        }
        let user = UserId(user);
        if let Some(known) = self.authors.get(&user) {
            return known.clone();
        }
        let person = self.bot.person(guild, user).await;
        self.authors.insert(user, person.clone());
        person
    }

    /// Whose channel this is, or the one above a thread.
    fn agent(&self, guild: GuildId) -> Option<AgentSummary> {
        let manager = &self.bot.manager;
        let own = manager.agent_for(self.channel, None);
        own.or_else(|| manager.agent_for(self.channel, self.bot.parent_of(guild, self.channel)))
    }
}

fn log_failure(outcome: Result<(), StoreError>, what: &str) {
    if let Err(error) = outcome {
        error!(%error, "{what}");
    }
}

/// What the operator is told when messages come without their text.
const NO_CONTENT: &str = "A message reached me without its text. If it had some, the Message Content intent is missing: switch it on at https://discord.com/developers/applications → your application → Bot → Privileged Gateway Intents → Message Content Intent, then restart Chorus.";

/// A webhook: it has a name and no rights.
fn stranger(message: &Message) -> Person {
    Person {
        id: UserId(message.author.id.get()),
        name: message.author.name.clone(),
        roles: Vec::new(),
        is_administrator: false,
        may_manage_server: false,
    }
}
