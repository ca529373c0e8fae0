//! Where everything meets: what a crash left is tidied, then the gateway's events, the agents' events and the outboxes are
//! served until the end, which comes in two steps: first nothing more is taken in, then what is still to be said is said.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use serenity::all::{Guild, Interaction, MessageUpdateEvent, PartialGuild};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{Instrument as _, warn};

use super::bot::channels::GuildChannels;
use super::bot::{Bot, servers};
use super::error::DiscordError;
use super::gateway::InboundEvent;
use super::gateway::presence::Busy;
use super::inbound::catch_up::Place;
use super::inbound::{ChannelEvent, Ingress};
use super::interactions::{self, registration};
use super::outbound::{Outbound, leftovers};
use crate::agent::event::Event;
use crate::domain::{ChannelId, GuildId, MessageId, UserId};
use crate::manager::{Lacks, SeenServer, Standing};

/// How long everything waits, at the start, for what a crash left in the channels to be put right. It is a request to each
/// channel; a Discord that is slower than this must not hold up the answers.
const TIDY_TIMEOUT: Duration = Duration::from_secs(5);

/// The end, in two steps.
#[derive(Clone, Debug, Default)]
pub struct Ends {
    /// From here on no message, command or press is taken.
    pub intake: CancellationToken,
    /// From here on nothing more happens: what is said already is sent, and the connection closed.
    pub all: CancellationToken,
}

/// Serves the gateway, the agents and the outboxes.
pub(super) struct Hub {
    pub(super) inbound: UnboundedReceiver<InboundEvent>,
    pub(super) events: UnboundedReceiver<Event>,
    pub(super) outbox: UnboundedReceiver<ChannelId>,
    pub(super) ingress: Ingress,
    pub(super) outbound: Outbound,
    pub(super) bot: Bot,
    pub(super) busy: watch::Sender<Busy>,
    pub(super) ends: Ends,
    /// Commands and presses being served.
    pub(super) serving: TaskTracker,
    /// Servers that we take messages of and have our commands in.
    pub(super) served: HashSet<GuildId>,
}

impl Hub {
    /// Serves until the gateway ends, or [`Ends::all`].
    pub(super) async fn run(
        mut self,
        mut gateway: JoinHandle<Result<(), DiscordError>>,
    ) -> Result<(), DiscordError> {
        let ends = self.ends.clone();
        let stop = ends.intake.clone();
        self.serving
            .spawn(registration::clear_global(self.bot.clone(), stop.clone()));
        self.serving
            .spawn(registration::follow_models(self.bot.clone(), stop.clone()));
        self.serving.spawn(servers::watch(self.bot.clone(), stop));
        let tidied = self.serving.spawn(leftovers::tidy(self.bot.clone()));
        tokio::select! {
            () = ends.all.cancelled() => {}
            _ = tokio::time::timeout(TIDY_TIMEOUT, tidied) => {}
        }
        let outcome = loop {
            tokio::select! {
                biased;
                () = ends.all.cancelled() => break Ok(()),
                ended = &mut gateway => break ended.unwrap_or_else(|error| Err(DiscordError::Start(error.to_string()))),
                Some(event) = self.events.recv() => self.show(event).await,
                Some(channel) = self.outbox.recv() => self.outbound.deliver(channel),
                Some(event) = self.inbound.recv() => self.take(event).await,
            }
        };
        ends.intake.cancel();
        ends.all.cancel();
        while let Ok(event) = self.events.try_recv() {
            self.show(event).await;
        }
        // Reading the past may take long; it is read again at the next start.
        let _ = tokio::time::timeout(Duration::from_secs(3), self.ingress.finish()).await;
        self.serving.close();
        // A command that hangs must not hold the end.
        let _ = tokio::time::timeout(Duration::from_secs(3), self.serving.wait()).await;
        self.outbound.finish().await;
        if !gateway.is_finished() {
            let _ = tokio::time::timeout(Duration::from_secs(8), gateway).await;
        }
        outcome
    }

    async fn show(&mut self, event: Event) {
        match event {
            Event::Presence { tasks, agents } => {
                self.busy.send_replace(Busy { tasks, agents });
            }
            Event::ServersChanged => self.look_at_servers().await,
            Event::Operator { cause, text } => self.bot.tell_operator(cause, text),
            Event::Unsettled(guild) => self.settle(guild),
            Event::Bound(guild, channel) => {
                self.ingress.send(channel, ChannelEvent::CatchUp(guild))
            }
            other => self.outbound.show(other),
        }
    }

    async fn take(&mut self, event: InboundEvent) {
        if self.ends.intake.is_cancelled() {
            return;
        }
        match event {
            InboundEvent::Ready => self.session_began().await,
            InboundEvent::Resumed => self.ingress.resumed(),
            InboundEvent::GuildCreate(guild) => self.guild(&guild).await,
            InboundEvent::GuildUpdate(guild) => self.guild_changed(&guild).await,
            InboundEvent::GuildDelete(guild) if guild.unavailable => {}
            InboundEvent::GuildDelete(guild) => self.guild_gone(GuildId(guild.id.get())).await,
            InboundEvent::ChannelDelete(channel) => self.channel_deleted(channel),
            InboundEvent::ThreadDelete(guild, thread) => self.thread_deleted(guild, thread),
            InboundEvent::MessageCreate(message) => self.message(message),
            InboundEvent::MessageUpdate(update) => self.message_changed(*update),
            InboundEvent::MessageDelete {
                guild,
                channel,
                ids,
            } => {
                for id in ids {
                    self.question_deleted(channel, id);
                    self.changed(guild, channel, ChannelEvent::Deleted(id));
                }
            }
            InboundEvent::Interaction(interaction) => self.interaction(*interaction),
        }
    }

    /// Whatever was said before may have been missed, and what waits to be sent is sent.
    async fn session_began(&mut self) {
        self.ingress.session_began();
        match self.bot.store.waiting_channels().await {
            Ok(channels) => channels
                .into_iter()
                .for_each(|channel| self.outbound.deliver(channel)),
            Err(error) => warn!(%error, "failed to read which channels have something to send"),
        }
    }

    /// A server as Discord describes it: served, or the operator is asked about it.
    async fn guild(&mut self, guild: &Guild) {
        self.ingress.server_described();
        if self.is_served(seen(guild)).await {
            self.serve(guild).await;
        }
    }

    /// A server has another name or owner, which may change whether it is served.
    async fn guild_changed(&mut self, guild: &PartialGuild) {
        let id = GuildId(guild.id.get());
        let seen = SeenServer {
            guild: id,
            name: guild.name.clone(),
            owner: UserId(guild.owner_id.get()),
            members: None,
        };
        if self.is_served(seen).await && !self.served.contains(&id) {
            self.serve_known(id).await;
        }
    }

    /// We are not in a server any more. Discord takes our commands out of it.
    async fn guild_gone(&mut self, guild: GuildId) {
        self.served.remove(&guild);
        if self.bot.knows(guild) {
            // We were invited again meanwhile.
            if self.bot.serves(guild) {
                self.serve_known(guild).await;
            }
            return;
        }
        if let Err(error) = self.bot.manager.left_server(guild).await {
            warn!(%error, guild.id = %guild, "failed to store that the bot is not in {guild} any more");
        }
    }

    /// Something was decided about servers: those that are served now are, and no others.
    async fn look_at_servers(&mut self) {
        let cache = self.bot.cache();
        let all: Vec<SeenServer> = cache
            .guilds()
            .into_iter()
            .filter_map(|id| cache.guild(id).map(|guild| seen(&guild)))
            .collect();
        for one in all {
            let id = one.guild;
            if self.is_served(one).await && !self.served.contains(&id) {
                self.serve_known(id).await;
            }
        }
    }

    /// Whether a server is served; one that is not is asked about or left, and what goes on in it ends.
    async fn is_served(&mut self, seen: SeenServer) -> bool {
        let id = seen.guild;
        let channels: Vec<ChannelId> = self.bot.server(id).map_or_else(Vec::new, |server| {
            let ids = server.channels.keys();
            ids.map(|channel| ChannelId(channel.get())).collect()
        });
        if let Err(error) = self.bot.manager.accept_again(&seen, &channels).await {
            warn!(%error, guild.id = %id, "failed to accept the server {id} again");
        }
        let standing = match self.bot.manager.saw_server(seen).await {
            Ok(standing) => standing,
            Err(error) => {
                warn!(%error, guild.id = %id, "failed to store what is known of the server {id}");
                return self.bot.serves(id);
            }
        };
        if standing == Standing::Served {
            return true;
        }
        if standing == Standing::Unknown {
            return false;
        }
        self.end_service(id);
        let bot = self.bot.clone();
        match standing {
            Standing::Ask(row) => bot.ask_about_server(&row),
            Standing::Leave => {
                self.serving.spawn(async move {
                    if let Err(error) = bot.leave_server(id).await {
                        warn!(%error, guild.id = %id, "failed to leave {id}, which is not accepted; trying again later");
                    }
                });
            }
            Standing::Served | Standing::Unknown | Standing::Waits => {}
        }
        false
    }

    /// Ends what goes on in a server that is not served any more, and takes our commands out of it.
    fn end_service(&mut self, guild: GuildId) {
        let was_served = self.served.remove(&guild);
        let bot = self.bot.clone();
        let stop = self.ends.intake.clone();
        self.serving.spawn(async move {
            if was_served {
                bot.manager.end_work_in(guild).await;
            }
            registration::unregister(bot, guild, stop).await;
        });
    }

    /// Begins to serve a server that was described before. What was said there meanwhile was passed over, so it is read.
    async fn serve_known(&mut self, guild: GuildId) {
        let server = self.bot.server(guild).map(|server| server.clone());
        let Some(server) = server else {
            return;
        };
        self.serve(&server).await;
        for place in server.channels.values().chain(&server.threads) {
            let parent = place.parent_id.map(|parent| ChannelId(parent.get()));
            let here = ChannelId(place.id.get());
            if self.bot.manager.agent_for(here, parent).is_some() {
                self.ingress.read_again(guild, here);
            }
        }
    }

    /// A server with its channels: it gets our commands, and what was missed in the channels of agents is read.
    async fn serve(&mut self, guild: &Guild) {
        let id = GuildId(guild.id.get());
        if self.served.insert(id) {
            self.bot.recall_command_ids(id).await;
            self.bot.greet(id).await;
            let registering =
                registration::register(self.bot.clone(), id, self.ends.intake.clone());
            self.serving.spawn(registering);
            self.deliver_in(id).await;
        }
        if let Err(error) = self.bot.manager.reload_settings(id).await {
            warn!(%error, guild.id = %id, "failed to read a server's settings");
        }
        let newest = |channel: &serenity::all::GuildChannel| {
            let last = channel.last_message_id.map(|last| MessageId(last.get()));
            (ChannelId(channel.id.get()), last)
        };
        let channels: Vec<_> = guild.channels.values().map(newest).collect();
        self.bot.manager.rebuild(id, &channels).await;
        self.settle(id);
        self.look_for_lacking(
            id,
            channels.into_iter().map(|(channel, _)| channel).collect(),
        );
        let manager = self.bot.manager.clone();
        self.serving
            .spawn(async move { manager.tell_unusable(id).await });
        let cursors = self.cursors().await;
        let places = guild.channels.values().chain(&guild.threads);
        for channel in places {
            let here = ChannelId(channel.id.get());
            let parent = channel.parent_id.map(|parent| ChannelId(parent.get()));
            if self.bot.manager.agent_for(here, parent).is_none() {
                continue;
            }
            let last_message = channel.last_message_id.map(|last| MessageId(last.get()));
            let place = Place {
                channel: here,
                last_message,
                cursor: cursors.get(&here).copied(),
            };
            self.ingress.place(id, place);
        }
    }

    /// The newest message of each channel that the ledger has, read at once: what comes meanwhile waits for this.
    async fn cursors(&self) -> HashMap<ChannelId, MessageId> {
        match self.bot.store.cursors().await {
            Ok(cursors) => cursors.into_iter().collect(),
            Err(error) => {
                warn!(%error, "failed to read the cursors; channels are looked through from their beginning");
                HashMap::new()
            }
        }
    }

    /// Sends what waited while the server was not served.
    async fn deliver_in(&mut self, guild: GuildId) {
        let channels = match self.bot.store.waiting_channels().await {
            Ok(channels) => channels,
            Err(error) => {
                return warn!(%error, "failed to read which channels have something to send");
            }
        };
        for channel in channels {
            if self.bot.guild_of(channel) == Some(guild) {
                self.outbound.deliver(channel);
            }
        }
    }

    /// Only what is written under an agent makes a queue; our own words come back to us and are passed over.
    fn message(&mut self, message: Box<serenity::all::Message>) {
        if message.author.id.get() == self.bot.own.0 {
            return;
        }
        let bot = self.bot.clone();
        let Some(guild) = message.guild_id.map(|guild| GuildId(guild.get())) else {
            self.serving
                .spawn(async move { bot.hint_in_private(*message).await });
            return;
        };
        if !self.bot.serves(guild) {
            return;
        }
        let channel = ChannelId(message.channel_id.get());
        let parent = self.bot.parent_of(guild, channel);
        let event = ChannelEvent::Message;
        match self.bot.manager.agent_for(channel, parent) {
            Some(_) => self.ingress.send(channel, event(message)),
            // A thread whose server is not described yet; once it is, its past is read.
            None if !self.bot.knows(guild) => self.ingress.send_if_open(channel, event(message)),
            // A thread that was archived, or out of our sight, when its server was described: Discord knows its place.
            None if !self.bot.has_place(guild, channel) => {
                self.ingress.send(channel, event(message));
            }
            None => {
                self.serving
                    .spawn(async move { bot.hint_at_mention(guild, *message).await });
            }
        }
    }

    fn message_changed(&mut self, update: MessageUpdateEvent) {
        let is_own = update
            .author
            .is_some_and(|author| author.id.get() == self.bot.own.0);
        if let Some(content) = update.content.filter(|_| !is_own) {
            let guild = update.guild_id.map(|guild| GuildId(guild.get()));
            let channel = ChannelId(update.channel_id.get());
            let id = MessageId(update.id.get());
            let edited = ChannelEvent::Edited(id, content, update.attachments);
            self.changed(guild, channel, edited);
        }
    }

    /// An open question whose message was deleted is asked again.
    fn question_deleted(&self, channel: ChannelId, message: MessageId) {
        if self.bot.approvals.asks(message) {
            let bot = self.bot.clone();
            self.serving
                .spawn(async move { bot.question_deleted(channel, message).await });
        }
    }

    /// A message was changed or deleted; of interest where messages are taken.
    fn changed(&mut self, guild: Option<GuildId>, channel: ChannelId, event: ChannelEvent) {
        if guild.is_some_and(|guild| !self.bot.serves(guild)) {
            return;
        }
        match self.bot.manager.agent_for(channel, None) {
            Some(_) => self.ingress.send(channel, event),
            None => self.ingress.send_if_open(channel, event),
        }
    }

    /// Has finished what a crash, or Discord's rate limit, left to do in a server.
    fn settle(&self, guild: GuildId) {
        let (bot, end) = (self.bot.clone(), self.ends.intake.clone());
        self.serving.spawn(async move {
            let channels = GuildChannels::new(bot.clone());
            let settled = bot.manager.settle(guild, &channels);
            end.run_until_cancelled(settled).await;
        });
    }

    /// Has people told which agents lost their channel or folder meanwhile. `channels` are those of the server.
    fn look_for_lacking(&self, guild: GuildId, channels: HashSet<ChannelId>) {
        let (bot, end) = (self.bot.clone(), self.ends.intake.clone());
        self.serving.spawn(async move {
            let ports = GuildChannels::new(bot.clone());
            let is_there = |channel| channels.contains(&channel);
            let looking = bot.manager.lacking(guild, is_there, &ports);
            match end.run_until_cancelled(looking).await {
                Some(Ok(lacking)) => {
                    let told_in = bot.first_usable(guild);
                    bot.manager.tell_lacking(lacking, told_in).await;
                }
                Some(Err(error)) => {
                    warn!(%error, guild.id = %guild, "failed to look for the channels of agents");
                }
                None => {}
            }
        });
    }

    fn channel_deleted(&self, channel: ChannelId) {
        let manager = self.bot.manager.clone();
        self.serving.spawn(async move {
            if let Err(error) = manager.channel_deleted(channel).await {
                warn!(%error, channel.id = %channel, "failed to close the branches of a deleted channel");
            }
        });
        let agent = self.bot.manager.agent_for(channel, None);
        let Some(agent) = agent.filter(|agent| self.bot.serves(agent.guild)) else {
            return;
        };
        let bot = self.bot.clone();
        self.serving.spawn(async move {
            let told_in = bot.first_usable(agent.guild);
            let lacks = vec![Lacks::channel(agent)];
            bot.manager.tell_lacking(lacks, told_in).await;
        });
    }

    fn thread_deleted(&self, guild: GuildId, thread: ChannelId) {
        if !self.bot.serves(guild) {
            return;
        }
        let manager = self.bot.manager.clone();
        self.serving.spawn(async move {
            if let Err(error) = manager.thread_deleted(thread).await {
                warn!(%error, channel.id = %thread, "failed to close the branch of a deleted thread");
            }
        });
    }

    fn interaction(&self, interaction: Interaction) {
        let bot = self.bot.clone();
        let span = tracing::info_span!("interaction", interaction.id = %interaction.id());
        self.serving
            .spawn(async move { interactions::serve(&bot, interaction).await }.instrument(span));
    }
}

fn seen(guild: &Guild) -> SeenServer {
    SeenServer {
        guild: GuildId(guild.id.get()),
        name: guild.name.clone(),
        owner: UserId(guild.owner_id.get()),
        members: Some(guild.member_count),
    }
}
