//! The room's life: what was left is tidied, then gateway, agents and people are served until the end, which comes in
//! two steps: first nothing more is taken in, then what is still to be said is said.

use std::sync::Arc;
use std::time::Duration;

use serenity::all::{Context, Event as GatewayEvent, FullEvent, Guild, Interaction};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{Instrument as _, warn};

use super::bot::Bot;
use super::catch_up::Place;
use super::error::DiscordError;
use super::gateway::Signal;
use super::ingress::{Arrival, Ingress};
use super::outbound::Outbound;
use super::presence::Busy;
use super::{buttons, commands, leftovers, registration};
use crate::agent::event::Event;
use crate::domain::{ChannelId, GuildId, MessageId};

/// How long everything waits, at the start, for what a crash left in the channels to be put right. It is a request to each
/// channel; a Discord that is slower than this must not hold up the answers.
const TIDY_PATIENCE: Duration = Duration::from_secs(5);

/// The end of the room, in two steps.
#[derive(Clone, Debug, Default)]
pub struct Ends {
    /// From here on no message, command or press is taken.
    pub intake: CancellationToken,
    /// From here on nothing more happens: what is said already is sent, and the connection closed.
    pub all: CancellationToken,
}

/// The room while it lives.
pub(super) struct Room {
    pub(super) signals: UnboundedReceiver<Signal>,
    pub(super) events: UnboundedReceiver<Event>,
    pub(super) outbox: UnboundedReceiver<ChannelId>,
    pub(super) ingress: Ingress,
    pub(super) outbound: Outbound,
    pub(super) bot: Bot,
    pub(super) busy: watch::Sender<Busy>,
    pub(super) shard: watch::Sender<Option<serenity::all::ShardMessenger>>,
    pub(super) ends: Ends,
    /// Commands and presses being served.
    pub(super) serving: TaskTracker,
}

impl Room {
    /// Serves until the gateway or the room ends.
    pub(super) async fn run(
        mut self,
        mut gateway: JoinHandle<Result<(), DiscordError>>,
    ) -> Result<(), DiscordError> {
        let ends = self.ends.clone();
        let registering = registration::register_all(self.bot.clone(), ends.intake.clone());
        self.serving.spawn(registering);
        let tidied = self.serving.spawn(leftovers::tidy(self.bot.clone()));
        tokio::select! {
            () = ends.all.cancelled() => {}
            _ = tokio::time::timeout(TIDY_PATIENCE, tidied) => {}
        }
        let outcome = loop {
            tokio::select! {
                biased;
                () = ends.all.cancelled() => break Ok(()),
                ended = &mut gateway => break ended.unwrap_or_else(|error| Err(DiscordError::Start(error.to_string()))),
                Some(event) = self.events.recv() => self.show(event),
                Some(channel) = self.outbox.recv() => self.outbound.deliver(channel),
                Some(signal) = self.signals.recv() => self.take(signal).await,
            }
        };
        ends.intake.cancel();
        ends.all.cancel();
        while let Ok(event) = self.events.try_recv() {
            self.show(event);
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

    fn show(&mut self, event: Event) {
        match event {
            Event::Presence { tasks, agents } => {
                self.busy.send_replace(Busy { tasks, agents });
            }
            Event::Operator { cause, text } => self.bot.tell_operator(cause, text),
            Event::Bound(guild, channel) => self.ingress.arrive(channel, Arrival::Place(guild)),
            other => self.outbound.show(other),
        }
    }

    async fn take(&mut self, signal: Signal) {
        if self.ends.intake.is_cancelled() {
            return;
        }
        match signal {
            Signal::Client(shards) => self.bot.shards.store(Some(shards)),
            Signal::Anew => self.ingress.connected_anew(),
            Signal::Ready(context) => self.ready(&context).await,
            Signal::Resumed => self.ingress.resumed(),
            Signal::Guild(guild) => self.guild(&guild).await,
            Signal::Ordered(event) => self.ordered(*event),
            Signal::Message(message) => self.message(message),
            Signal::Interaction(context, interaction) => self.interaction(context, *interaction),
        }
    }

    async fn ready(&mut self, context: &Context) {
        self.bot.cache.store(Some(Arc::clone(&context.cache)));
        self.shard.send_replace(Some(context.shard.clone()));
        match self.bot.store.waiting_channels().await {
            Ok(channels) => channels
                .into_iter()
                .for_each(|channel| self.outbound.deliver(channel)),
            Err(error) => warn!(%error, "what was left to send is not known"),
        }
    }

    /// A server with its channels: what was missed in those of agents is read.
    async fn guild(&mut self, guild: &Guild) {
        let id = GuildId(guild.id.get());
        self.ingress.server_described();
        if let Err(error) = self.bot.manager.reload_settings(id).await {
            warn!(%error, "a server's settings could not be read");
        }
        let manager = self.bot.manager.clone();
        self.serving
            .spawn(async move { manager.tell_unreadable(id).await });
        let places = guild.channels.values().chain(&guild.threads);
        for channel in places {
            let here = ChannelId(channel.id.get());
            let parent = channel.parent_id.map(|parent| ChannelId(parent.get()));
            if self.bot.manager.agent_for(here, parent).is_none() {
                continue;
            }
            let cursor = self.bot.store.cursor(here).await.unwrap_or_default();
            let last_message = channel.last_message_id.map(|last| MessageId(last.get()));
            let place = Place {
                channel: here,
                last_message,
                cursor,
            };
            self.ingress.place(id, place);
        }
    }

    /// Only what is written under an agent makes a queue; our own words come back to us and are passed over.
    fn message(&mut self, message: Box<serenity::all::Message>) {
        if message.author.id.get() == self.bot.own.0 {
            return;
        }
        let Some(guild) = message.guild_id.map(|guild| GuildId(guild.get())) else {
            return;
        };
        let channel = ChannelId(message.channel_id.get());
        let parent = self.bot.parent_of(guild, channel);
        let arrival = Arrival::Message(message);
        match self.bot.manager.agent_for(channel, parent) {
            Some(_) => self.ingress.arrive(channel, arrival),
            // A thread whose server is not described yet; once it is, its past is read.
            None if !self.bot.knows(guild) => self.ingress.arrive_if_known(channel, arrival),
            // A thread that was archived, or out of our sight, when its server was described: Discord knows its place.
            None if !self.bot.has_place(guild, channel) => self.ingress.arrive(channel, arrival),
            None => {}
        }
    }

    fn ordered(&mut self, event: GatewayEvent) {
        match event {
            GatewayEvent::MessageCreate(event) => self.message(Box::new(event.message)),
            GatewayEvent::MessageUpdate(event) => {
                let is_own = event
                    .author
                    .is_some_and(|author| author.id.get() == self.bot.own.0);
                if let Some(content) = event.content.filter(|_| !is_own) {
                    let arrival =
                        Arrival::Edited(MessageId(event.id.get()), content, event.attachments);
                    self.changed(ChannelId(event.channel_id.get()), arrival);
                }
            }
            GatewayEvent::MessageDelete(event) => {
                let arrival = Arrival::Deleted(MessageId(event.message_id.get()));
                self.changed(ChannelId(event.channel_id.get()), arrival);
            }
            GatewayEvent::MessageDeleteBulk(event) => {
                for id in event.ids {
                    let arrival = Arrival::Deleted(MessageId(id.get()));
                    self.changed(ChannelId(event.channel_id.get()), arrival);
                }
            }
            GatewayEvent::ChannelDelete(event) => {
                self.channel_deleted(ChannelId(event.channel.id.get()))
            }
            GatewayEvent::ThreadDelete(event) => {
                self.thread_deleted(ChannelId(event.thread.id.get()))
            }
            _ => {}
        }
    }

    /// A message was changed or deleted; of interest where messages are taken.
    fn changed(&mut self, channel: ChannelId, arrival: Arrival) {
        match self.bot.manager.agent_for(channel, None) {
            Some(_) => self.ingress.arrive(channel, arrival),
            None => self.ingress.arrive_if_known(channel, arrival),
        }
    }

    fn channel_deleted(&self, channel: ChannelId) {
        if let Some(agent) = self.bot.manager.agent_for(channel, None) {
            self.bot.tell_operator(
                format!("channel-deleted:{channel}"),
                format!("The channel of agent `{0}` was deleted. `/agent repair {0}` makes a new one; `/agent destroy {0}` ends the agent.", agent.name),
            );
        }
    }

    fn thread_deleted(&self, thread: ChannelId) {
        let manager = self.bot.manager.clone();
        self.serving.spawn(async move {
            if let Err(error) = manager.thread_deleted(thread).await {
                warn!(%error, channel.id = %thread, "the branch of a deleted thread was not closed");
            }
        });
    }

    fn interaction(&self, context: Context, interaction: Interaction) {
        let bot = self.bot.clone();
        let span = tracing::info_span!("interaction", interaction.id = %interaction.id());
        self.serving.spawn(
            async move {
                match interaction {
                    Interaction::Command(_) | Interaction::Autocomplete(_) => {
                        commands::dispatch(
                            &bot,
                            &context,
                            FullEvent::InteractionCreate { interaction },
                        )
                        .await;
                    }
                    Interaction::Component(press) => buttons::pressed(&bot, &press).await,
                    Interaction::Modal(form) => buttons::submitted(&bot, &form).await,
                    _ => {}
                }
            }
            .instrument(span),
        );
    }
}
