//! The way in: one queue per channel, so that messages reach an agent in the order they were written.
//!
//! After each new connection a channel first reads its missed messages: from the ledger's cursor on, before anything
//! new is taken, by the same path. A message that was read there and also comes from the gateway, or that a resumed
//! session repeats, is taken once: a queue judges an id once, and the ledger stores it once (D1).

pub mod catch_up;
mod mentions;
pub mod message;
mod past;
mod shared;
mod started;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serenity::all::{Attachment, Message, User};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{Instrument as _, debug, error};

use self::catch_up::Place;
use self::message::{Bots, Ignored};
use super::bot::Bot;
use super::people;
use super::rest::body::Body;
use super::rest::{route, snowflake};
use crate::agent::Members as _;
use crate::agent::event::Arrived;
use crate::domain::{ChannelId, GuildId, MessageId, Person, UserId};
use crate::manager::{AgentSummary, ManagerError, Received};
use crate::store::StoreError;

pub(super) use self::shared::Shared;

/// An event in a channel, for its queue.
#[derive(Debug)]
pub(super) enum ChannelEvent {
    /// A message, with a guard that holds back the open questions it may answer until it is judged.
    Message(Box<Message>, Vec<Arrived>),
    /// A message's text was changed, and possibly its files.
    Edited(Box<Edit>),
    Deleted(MessageId),
    /// Discord has newer messages here than the ledger.
    CatchUp(GuildId),
    /// The session was resumed: check for messages that the replay may have missed.
    Resumed,
}

/// The state of a message after a change.
#[derive(Debug)]
pub(super) struct Edit {
    pub(super) id: MessageId,
    pub(super) content: String,
    /// `None` if Discord does not send them.
    pub(super) files: Option<Vec<Attachment>>,
    /// The people that it mentions.
    pub(super) mentions: Vec<User>,
}

/// All channels' queues.
pub(super) struct Ingress {
    bot: Bot,
    queues: HashMap<ChannelId, UnboundedSender<ChannelEvent>>,
    shared: Arc<Shared>,
    tasks: TaskTracker,
    stop: CancellationToken,
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

    /// Handles a new session: every channel may have missed something.
    pub(super) fn session_began(&self) {
        self.shared.epoch.fetch_add(1, Ordering::Relaxed);
    }

    /// Handles the description of a server, with its channels and threads.
    pub(super) fn server_described(&self) {
        self.shared.described.send_modify(|count| *count += 1);
    }

    /// Handles a resumed session: channels that were in use check again.
    pub(super) fn resumed(&mut self) {
        for queue in self.queues.values() {
            // A queue that has ended has nothing to check.
            let _ = queue.send(ChannelEvent::Resumed);
        }
    }

    /// Handles a channel or thread as Discord describes it after connecting. No queue is created if nothing was missed.
    pub(super) fn place(&mut self, guild: GuildId, place: Place) {
        if catch_up::read_after(&place).is_none() && !self.queues.contains_key(&place.channel) {
            self.shared.mark_caught_up(place.channel);
            return;
        }
        self.send(place.channel, ChannelEvent::CatchUp(guild));
    }

    /// Reads a channel with skipped messages again, from its last position.
    pub(super) fn read_again(&mut self, guild: GuildId, channel: ChannelId) {
        self.shared.mark_behind(channel);
        self.send(channel, ChannelEvent::CatchUp(guild));
    }

    /// Handles a change of a message in a channel; if none was taken since the start, there is nothing to do.
    pub(super) fn send_if_open(&mut self, channel: ChannelId, event: ChannelEvent) {
        if self.queues.contains_key(&channel) {
            self.send(channel, event);
        }
    }

    pub(super) fn send(&mut self, channel: ChannelId, event: ChannelEvent) {
        let queue = self.queues.entry(channel).or_insert_with(|| {
            let (sender, inbox) = mpsc::unbounded_channel();
            let shared = Arc::clone(&self.shared);
            let queue = Queue::new(inbox, self.bot.clone(), shared, channel, self.stop.clone());
            self.tasks.spawn(queue.run());
            sender
        });
        if queue.send(event).is_err() {
            debug!(channel.id = %channel, "an event was dropped: the queue of {channel} has ended");
        }
    }

    /// Waits until all queues have ended, which they do when `stop` is cancelled.
    pub(super) async fn finish(self) {
        drop(self.queues);
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// Message ids remembered per channel. After a resume the past is read again from the cursor on, and the cursor does
/// not move for ignored messages, so these must stay ignored. The ledger knows only those that were taken.
const REMEMBERED: usize = 64;

/// How long the descriptions of a new session's servers may take.
const DESCRIBED_WITHIN: Duration = Duration::from_secs(30);

/// The outcome of a message.
enum Taken {
    /// Its agent has it, or it is not for an agent.
    Settled,
    /// Its server is not known; it must be read again.
    NotYet,
}

/// A channel's queue.
struct Queue {
    inbox: UnboundedReceiver<ChannelEvent>,
    bot: Bot,
    shared: Arc<Shared>,
    channel: ChannelId,
    guild: Option<GuildId>,
    /// The channel above, if it was learned by asking Discord.
    place: Option<ChannelId>,
    /// The latest judged messages.
    judged: VecDeque<MessageId>,
    /// Authors of the past messages that are being read, so that each is looked up once.
    authors: HashMap<UserId, Option<Person>>,
    stop: CancellationToken,
}

impl Queue {
    fn new(
        inbox: UnboundedReceiver<ChannelEvent>,
        bot: Bot,
        shared: Arc<Shared>,
        channel: ChannelId,
        stop: CancellationToken,
    ) -> Self {
        Self {
            inbox,
            bot,
            shared,
            channel,
            guild: None,
            place: None,
            judged: VecDeque::new(),
            authors: HashMap::new(),
            stop,
        }
    }

    async fn run(mut self) {
        let stop = self.stop.clone();
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                event = self.inbox.recv() => match event {
                    // Allocated while it runs, so that an inactive channel needs no memory for it.
                    Some(event) => Box::pin(self.take(event)).await,
                    None => break,
                },
            }
        }
    }

    async fn take(&mut self, event: ChannelEvent) {
        match event {
            ChannelEvent::Message(message, arrived) => {
                self.message(*message).await;
                drop(arrived);
            }
            // An edit by a person leaves words or files; Discord reports added embeds in the same way.
            ChannelEvent::Edited(edit)
                if edit.content.trim().is_empty() && edit.files.is_none() => {}
            ChannelEvent::Edited(edit) => self.edited(*edit).await,
            ChannelEvent::Deleted(id) => log_failure(
                self.bot.manager.routing.deleted(id).await,
                "store a deletion",
            ),
            ChannelEvent::CatchUp(guild) => {
                self.guild = Some(guild);
                if !self.shared.is_caught_up(self.channel) {
                    self.catch_up(guild).await;
                }
            }
            ChannelEvent::Resumed => match self.guild {
                Some(guild) if self.server_is_known(guild).await => self.catch_up(guild).await,
                Some(_) | None => self.shared.mark_behind(self.channel),
            },
        }
    }

    async fn edited(&self, edit: Edit) {
        let files = edit.files.as_deref();
        let files = files.map(|files| files.iter().map(message::to_attachment).collect());
        let mut content = edit.content;
        content.extend(self.legend(&content, &edit.mentions));
        let routing = &self.bot.manager.routing;
        let edited = routing.edited(edit.id, &content, files).await;
        log_failure(edited, "store an edit");
    }

    /// Returns a line that names everything `text` mentions.
    fn legend(&self, text: &str, users: &[User]) -> Option<String> {
        let server = self.guild.and_then(|guild| self.bot.server(guild));
        let legend = mentions::legend(text, users.iter(), self.bot.own, server.as_deref())?;
        Some(format!("\n{legend}"))
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
        self.find_place(guild).await;
        let Some(agent) = self.agent(guild) else {
            return;
        };
        // Any message ends the silence, even if it is not for the agent.
        self.bot
            .manager
            .routing
            .activity(agent.id, self.channel)
            .await;
        if !self.shared.is_caught_up(self.channel) {
            self.catch_up(guild).await;
        }
        if self.stop.is_cancelled() {
            // The past may still be unread; the next start reads both.
            return;
        }
        if let Taken::NotYet = self.ingest(&agent, message).await {
            // It is read once the server is described again.
            self.shared.mark_behind(self.channel);
        }
    }

    /// Waits until Discord has described the server: before that, neither threads nor people's rights are known.
    async fn server_is_known(&self, guild: GuildId) -> bool {
        let mut described = self.shared.described.subscribe();
        let known = async {
            while !self.bot.knows(guild) {
                // The sender is in `self`, so this ends only with a description.
                let _ = described.changed().await;
            }
        };
        // A deadline: in an outage a server may remain undescribed for long, and the queue must continue.
        tokio::time::timeout(DESCRIBED_WITHIN, known).await.is_ok()
    }

    async fn ingest(&mut self, agent: &AgentSummary, message: Message) -> Taken {
        let guild = agent.guild;
        if !self.bot.serves(guild) {
            // It came before the server lost its service; it is read once the server is served again.
            return Taken::NotYet;
        }
        let id = MessageId(message.id.get());
        if self.judged.contains(&id) {
            return Taken::Settled;
        }
        let shared = Arc::clone(&self.shared);
        let _one_at_a_time = if message::is_bot(&message) {
            Some(shared.bots.lock().await)
        } else {
            None
        };
        let ignored = match self.judge(agent, &message).await {
            Ok(ignored) => ignored,
            Err(error) => {
                self.tell_not_taken(id, &error).await;
                self.remember(id);
                return Taken::Settled;
            }
        };
        if let Some(why) = ignored {
            debug!(message.id = %id, reason = ?why, "a message was ignored");
            if why == Ignored::NoContent {
                self.bot.tell_operator("message-content", NO_CONTENT);
            }
            self.remember(id);
            return Taken::Settled;
        }
        let mut author = self.author(guild, &message).await;
        while author.is_none() && !self.bot.knows(guild) {
            // The server became unavailable at this very moment.
            if !self.server_is_known(guild).await {
                return Taken::NotYet;
            }
            author = self.author(guild, &message).await;
        }
        self.remember(id);
        let Some(author) = author else {
            debug!(message.id = %id, "a message was ignored: its author is not a member");
            return Taken::Settled;
        };
        self.receive(agent, message, author).await;
        Taken::Settled
    }

    fn remember(&mut self, id: MessageId) {
        self.judged.push_back(id);
        if self.judged.len() > REMEMBERED {
            self.judged.pop_front();
        }
    }

    /// Passes a message to its agent, if its author may talk to it.
    async fn receive(&self, agent: &AgentSummary, message: Message, author: Person) {
        let id = MessageId(message.id.get());
        let (access, ahead) = self.bot.manager.access.access_and_beginning(agent).await;
        self.bot
            .manager
            .directory
            .tell_if_unreadable(agent, &access)
            .await;
        if !access.admits(&author) {
            debug!(message.id = %id, "a message was ignored: its author has no access");
            let told = self.bot.tell_no_access(agent, &access, &author, &message);
            return told.await;
        }
        self.know_what_it_replies_to(&message).await;
        let parent = self.parent(agent.guild);
        self.bot.knows_thread(self.channel, parent).await;
        let started = self.started(agent.guild, parent, &message).await;
        let mut inbound = {
            let server = self.bot.server(agent.guild);
            let server = server.as_deref();
            message::to_inbound(&message, agent.guild, parent, author, self.bot.own, server)
        };
        if let Some(started) = started {
            inbound.content.insert_str(0, &started);
        }
        match self.bot.manager.access.may_write(&inbound).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return,
            Err(error) => return self.tell_not_taken(id, &error).await,
        }
        match self.bot.answers_question(agent, &inbound).await {
            Ok(false) => {}
            Ok(true) => return,
            Err(error) => return self.tell_not_taken(id, &error).await,
        }
        let span = tracing::info_span!("message", message.id = %id, agent.id = %agent.id);
        let received = self
            .bot
            .manager
            .routing
            .receive(agent, inbound.clone(), ahead);
        match received.instrument(span).await {
            Ok(Received::Accepted) => {
                let answered = self.bot.answered_in_words(agent, inbound, &message.content);
                answered.await;
            }
            Ok(Received::Duplicate) | Err(ManagerError::NoAgentHere) => {}
            Err(error) => self.tell_not_taken(id, &error).await,
        }
    }

    async fn tell_not_taken(&self, id: MessageId, error: &(dyn std::error::Error + Sync)) {
        error!(%error, message.id = %id, "failed to take a message");
        let body = Body::sentence(format!("⚠️ I could not accept that message: {error}"));
        // Without the ledger this line is all that people get.
        if self.bot.may_post(self.channel).await {
            let _ = self.bot.rest.post(self.channel, &body).await;
        }
    }

    /// Waits for the id of an answer of ours that is being posted, if the message may reply to it: the id determines
    /// the message's conversation.
    async fn know_what_it_replies_to(&self, message: &Message) {
        let Some(replied) = message::replied_to(message) else {
            return;
        };
        if !self.bot.posting.is_in(self.channel) {
            return;
        }
        let known = self.bot.store.conversation_of_message(replied).await;
        if !matches!(known, Ok(Some(_))) {
            self.bot.posting.settles(self.channel).await;
        }
    }

    fn ignored(&self, message: &Message) -> Option<Ignored> {
        let bots = if self.bot.config.load().allow_bots {
            Bots::Answered
        } else {
            Bots::Ignored
        };
        message::ignored(message, self.bot.own.0, bots)
    }

    /// Decides whether a message is ignored. A message of a bot is judged by its own time: when it is read again later,
    /// the outcome is the same.
    async fn judge(
        &self,
        agent: &AgentSummary,
        message: &Message,
    ) -> Result<Option<Ignored>, StoreError> {
        let ignored = self.ignored(message);
        if ignored.is_some() || !message::is_bot(message) {
            return Ok(ignored);
        }
        let id = MessageId(message.id.get());
        let place = agent.channel.unwrap_or(self.channel);
        let since = message::bots_since(id);
        let before = self.bot.store.messages_of_bots(place, since, id).await?;
        Ok((!message::answers_bot(before)).then_some(Ignored::Bot))
    }

    /// Returns whether a skipped message would have been taken.
    fn counts(&self, message: &Message) -> bool {
        message::ignored(message, self.bot.own.0, Bots::Ignored).is_none()
    }

    /// Returns the author, with the roles that came with the message or that Discord names now.
    async fn author(&mut self, guild: GuildId, message: &Message) -> Option<Person> {
        let user = message.author.id.get();
        if let Some(webhook) = message.webhook_id {
            return Some(stranger(message, UserId(webhook.get())));
        }
        if let Some(member) = &message.member {
            let server = self.bot.server(guild)?;
            let name = member
                .nick
                .as_deref()
                .or(message.author.global_name.as_deref())
                .unwrap_or(&message.author.name);
            return Some(people::person(&server, user, name, &member.roles));
        }
        let user = UserId(user);
        if let Some(known) = self.authors.get(&user) {
            return known.clone();
        }
        let person = self.bot.person(guild, user).await;
        if person.is_some() || self.bot.knows(guild) {
            self.authors.insert(user, person.clone());
        }
        person
    }

    /// Returns the agent of this channel, or of the one above a thread.
    fn agent(&self, guild: GuildId) -> Option<AgentSummary> {
        let manager = &self.bot.manager;
        let own = manager.directory.agent_for(self.channel, None);
        own.or_else(|| {
            manager
                .directory
                .agent_for(self.channel, self.parent(guild))
        })
    }

    /// Returns the channel above, when this is a thread.
    fn parent(&self, guild: GuildId) -> Option<ChannelId> {
        self.bot.parent_of(guild, self.channel).or(self.place)
    }

    /// Asks Discord, once, for the parent of a channel that its server's description did not name.
    async fn find_place(&mut self, guild: GuildId) {
        if self.place.is_some() || self.bot.has_place(guild, self.channel) {
            return;
        }
        match self.bot.rest.call(route::channel(self.channel)).await {
            Ok(found) => self.place = snowflake(&found["parent_id"]).map(ChannelId),
            Err(error) => {
                debug!(%error, channel.id = %self.channel, "failed to read what channel {} is", self.channel);
            }
        }
    }
}

fn log_failure(outcome: Result<(), StoreError>, doing: &str) {
    if let Err(error) = outcome {
        error!(%error, "failed to {doing}");
    }
}

/// The operator's notice when messages arrive without their text.
const NO_CONTENT: &str = "A message reached me without text. If it had text, the Message Content intent is missing: switch it on at https://discord.com/developers/applications → your application → Bot → Privileged Gateway Intents → Message Content Intent, then restart Chorus.";

/// Returns the author of a webhook's message: a name without rights. `webhook` is its own id, which no member has; the
/// author that the message names may be a member.
fn stranger(message: &Message, webhook: UserId) -> Person {
    Person {
        id: webhook,
        name: message.author.name.clone(),
        roles: Vec::new(),
        is_administrator: false,
        may_manage_server: false,
    }
}
