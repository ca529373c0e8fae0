//! The main loop. It cleans up after a crash, then serves the gateway's events, the agents' events and the outboxes
//! until the end. The end comes in two steps: first nothing more is accepted, then unsent messages are sent.

mod servers;

use std::collections::HashSet;
use std::time::Duration;

use serenity::all::{Interaction, MessageUpdateEvent};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{Instrument as _, warn};

use super::bot::{self, Bot};
use super::error::DiscordError;
use super::gateway::InboundEvent;
use super::gateway::presence::Busy;
use super::inbound::{ChannelEvent, Edit, Ingress};
use super::interactions::{self, registration, retries};
use super::outbound::{Outbound, leftovers};
use crate::agent::event::Event;
use crate::domain::{ChannelId, GuildId, MessageId};
use crate::manager::Lacks;

/// How long everything waits, at the start, until the remains of a crash in the channels are cleaned up. That is one
/// request for each channel; a slower Discord must not delay the answers.
const TIDY_TIMEOUT: Duration = Duration::from_secs(5);

/// The end, in two steps.
#[derive(Clone, Debug, Default)]
pub struct Ends {
    /// Cancelled when no more messages, commands or presses are accepted.
    pub intake: CancellationToken,
    /// Cancelled when nothing more happens: queued messages are sent, and the connection closed.
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
    /// Servers that are accepted: their messages are read and our commands are registered there.
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
        let registered = self.bot.commands.load_full();
        self.serving.spawn(registration::follow_models(
            self.bot.clone(),
            registered,
            stop.clone(),
        ));
        self.serving
            .spawn(retries::watch(self.bot.clone(), stop.clone()));
        self.serving
            .spawn(bot::servers::watch(self.bot.clone(), stop));
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
        // Reading the past may take long; the next start reads it again.
        let _ = tokio::time::timeout(Duration::from_secs(3), self.ingress.finish()).await;
        self.serving.close();
        // A command that hangs must not delay the end.
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
            InboundEvent::GuildCreate(guild) => {
                self.guild(&guild).await;
                // Retries may wait for this server.
                self.bot.retries.notify_one();
            }
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

    /// Handles a new session: earlier messages may have been missed, and waiting messages are sent.
    async fn session_began(&mut self) {
        self.ingress.session_began();
        match self.bot.store.waiting_channels().await {
            Ok(channels) => channels
                .into_iter()
                .for_each(|channel| self.outbound.deliver(channel)),
            Err(error) => warn!(%error, "failed to read which channels have something to send"),
        }
    }

    /// Handles a message. A queue is created only for messages under an agent; our own messages come back to us and are
    /// skipped.
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
        let id = MessageId(message.id.get());
        let event = |message| {
            let arrived = self.bot.approvals.words_arrived(channel, id);
            ChannelEvent::Message(message, arrived)
        };
        match self.bot.manager.directory.agent_for(channel, parent) {
            Some(_) => self.ingress.send(channel, event(message)),
            // A thread in a server that is not yet described; once it is, missed messages are read.
            None if !self.bot.knows(guild) => self.ingress.send_if_open(channel, event(message)),
            // A thread that was archived, or hidden from us, when its server was described: Discord knows its parent.
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
            let edit = Edit {
                id,
                content,
                files: update.attachments,
                mentions: update.mentions.unwrap_or_default(),
            };
            self.changed(guild, channel, ChannelEvent::Edited(Box::new(edit)));
        }
    }

    /// Asks an open question again after its message was deleted.
    fn question_deleted(&self, channel: ChannelId, message: MessageId) {
        if self.bot.approvals.asks(message) {
            let bot = self.bot.clone();
            self.serving
                .spawn(async move { bot.question_deleted(channel, message).await });
        }
        if let Some(question) = self.bot.manager.deps().questions.with_card(message) {
            let deps = self.bot.manager.deps().clone();
            self.serving.spawn(async move {
                if let Err(error) = deps.question_deleted(question).await {
                    warn!(%error, channel.id = %channel, "failed to post a question again whose card was deleted");
                }
            });
        }
    }

    /// Passes on a change or deletion of a message, if messages are accepted there.
    fn changed(&mut self, guild: Option<GuildId>, channel: ChannelId, event: ChannelEvent) {
        if guild.is_some_and(|guild| !self.bot.serves(guild)) {
            return;
        }
        match self.bot.manager.directory.agent_for(channel, None) {
            Some(_) => self.ingress.send(channel, event),
            None => self.ingress.send_if_open(channel, event),
        }
    }

    fn channel_deleted(&self, channel: ChannelId) {
        self.bot.approvals.channel_deleted(channel);
        let manager = self.bot.manager.clone();
        self.serving.spawn(async move {
            if let Err(error) = manager.routing.channel_deleted(channel).await {
                warn!(%error, channel.id = %channel, "failed to close the branches of a deleted channel");
            }
        });
        let agent = self.bot.manager.directory.agent_for(channel, None);
        let Some(agent) = agent.filter(|agent| self.bot.serves(agent.guild)) else {
            return;
        };
        let bot = self.bot.clone();
        self.serving.spawn(async move {
            let told_in = bot.first_usable(agent.guild);
            let lacks = vec![Lacks::channel(agent)];
            bot.manager.recovery.tell_lacking(lacks, told_in).await;
        });
    }

    fn thread_deleted(&self, guild: GuildId, thread: ChannelId) {
        if !self.bot.serves(guild) {
            return;
        }
        let manager = self.bot.manager.clone();
        self.serving.spawn(async move {
            if let Err(error) = manager.routing.thread_deleted(thread).await {
                warn!(%error, channel.id = %thread, "failed to close the branch of a deleted thread");
            }
        });
    }

    fn interaction(&self, interaction: Interaction) {
        let bot = self.bot.clone();
        let arrived = match &interaction {
            Interaction::Component(press) => bot.approvals.arrived(&press.data.custom_id),
            Interaction::Modal(form) => bot.approvals.arrived(&form.data.custom_id),
            _ => None,
        };
        let span = tracing::info_span!("interaction", interaction.id = %interaction.id());
        let serving = async move { interactions::serve(&bot, interaction, arrived).await };
        self.serving.spawn(serving.instrument(span));
    }
}
