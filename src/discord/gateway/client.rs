//! serenity's client: made for our own line, and forwarding what it reports.

use std::sync::atomic::{AtomicBool, Ordering};

use serenity::all::{
    Client, ClientBuilder, Context, Event, EventHandler, GatewayIntents, Guild, HttpBuilder,
    Interaction, Message, PartialGuild, Ready, UnavailableGuild,
};
use serenity::cache::Settings as CacheSettings;
use serenity::gateway::CollectorCallback;
use tokio::sync::mpsc::UnboundedSender;
use tracing::info;

use super::health::GatewayHealth;
use super::line::Gateway;
use super::signal::Signal;
use crate::discord::rest::http_client;

/// What we ask the gateway for. Message Content is privileged: without it messages have no text.
const INTENTS: GatewayIntents = GatewayIntents::GUILDS
    .union(GatewayIntents::GUILD_MESSAGES)
    .union(GatewayIntents::MESSAGE_CONTENT);

impl Gateway {
    /// A client that is not connected yet.
    pub(super) async fn client(&self) -> Result<Client, serenity::Error> {
        let handler = Handler {
            signals: self.signals.clone(),
            health: self.health.clone(),
            is_laid: AtomicBool::new(false),
        };
        let mut http = HttpBuilder::new(&self.token);
        if let Ok(client) = http_client() {
            http = http.client(client);
        }
        if let Some(base) = &self.base {
            // serenity's limiter would send its requests to discord.com all the same.
            http = http.proxy(base).ratelimiter_disabled(true);
        }
        let mut cache = CacheSettings::default();
        cache.max_messages = 0;
        ClientBuilder::new_with_http(http.build(), INTENTS)
            .cache_settings(cache)
            .event_handler(handler)
            .await
    }
}

/// Forwards what serenity reports; decides nothing.
struct Handler {
    signals: UnboundedSender<Signal>,
    health: GatewayHealth,
    /// Whether events come in their order already.
    is_laid: AtomicBool,
}

impl Handler {
    fn say(&self, signal: Signal) {
        // The room listens as long as the gateway runs; at the end nobody needs to hear it.
        let _ = self.signals.send(signal);
    }

    /// Events in their order: serenity runs a task for each, this is called by its runner itself.
    fn lay_ordered_way(&self, context: &Context) {
        if self.is_laid.swap(true, Ordering::Relaxed) {
            return;
        }
        let signals = self.signals.clone();
        let forward = move |event: &Event| match event {
            Event::MessageCreate(_)
            | Event::MessageUpdate(_)
            | Event::MessageDelete(_)
            | Event::MessageDeleteBulk(_)
            | Event::ChannelDelete(_)
            | Event::ThreadDelete(_) => signals
                .send(Signal::Ordered(Box::new(event.clone())))
                .is_ok(),
            _ => true,
        };
        context
            .shard
            .add_collector(CollectorCallback(Box::new(forward)));
    }
}

#[serenity::async_trait]
impl EventHandler for Handler {
    async fn ready(&self, context: Context, ready: Ready) {
        info!(
            discord.guilds = ready.guilds.len(),
            "Discord has accepted us as {}", ready.user.name
        );
        self.health.set_ready(true);
        // In this order: what comes by the ordered way comes after the signal that makes the room read what it missed.
        self.say(Signal::Ready(context.clone()));
        self.lay_ordered_way(&context);
    }

    async fn guild_create(&self, _: Context, guild: Guild, _: Option<bool>) {
        self.say(Signal::Guild(Box::new(guild)));
    }

    async fn guild_update(&self, _: Context, _: Option<Guild>, changed: PartialGuild) {
        self.say(Signal::GuildChanged(Box::new(changed)));
    }

    async fn guild_delete(&self, _: Context, gone: UnavailableGuild, _: Option<Guild>) {
        self.say(Signal::GuildGone(gone));
    }

    async fn message(&self, _: Context, message: Message) {
        self.say(Signal::Message(Box::new(message)));
    }

    async fn interaction_create(&self, context: Context, interaction: Interaction) {
        self.say(Signal::Interaction(context, Box::new(interaction)));
    }
}
