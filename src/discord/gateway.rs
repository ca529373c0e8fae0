//! The connection to Discord's gateway, and what comes by it.
//!
//! ```text
//! Discord ◀─▶ upstream ◀─▶ relay ◀─▶ local ◀─▶ serenity ─▶ Handler ─▶ Signal ─▶ the room
//! ```
//!
//! serenity makes values of events and keeps a picture of our servers. The line itself is ours: `session` decides,
//! `upstream` is one connection, `relay` goes from one to the next, `local` is what serenity sees: a gateway that
//! never breaks. A reconnect touches nothing but the connection.

mod local;
mod relay;
pub mod session;
mod upstream;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use serenity::all::{
    Client, ClientBuilder, Context, Event, EventHandler, GatewayIntents, Guild, HttpBuilder,
    Interaction, Message, Ready, ShardManager,
};
use serenity::cache::Settings as CacheSettings;
use serenity::gateway::CollectorCallback;
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::sync::{Mutex, watch};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::DiscordError;
use super::rest::{Rest, http_client, line_client};
use local::Local;
use relay::Relay;

/// The first pause before serenity is made anew; it doubles up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// A serenity that lived this long starts the pauses anew.
const HELD: Duration = Duration::from_secs(60);

/// How long an orderly close may take.
const CLOSE_WITHIN: Duration = Duration::from_secs(6);

/// What we ask the gateway for. Message Content is privileged: without it messages have no text.
pub(super) const INTENTS: GatewayIntents = GatewayIntents::GUILDS
    .union(GatewayIntents::GUILD_MESSAGES)
    .union(GatewayIntents::MESSAGE_CONTENT);

/// What the gateway says to the room.
#[derive(Debug)]
pub(super) enum Signal {
    /// A client is about to connect; this is what manages its connection.
    Client(Arc<ShardManager>),
    /// A new session: whatever was said before may have been missed.
    Anew,
    /// serenity knows of the new session.
    Ready(Context),
    /// The old connection goes on.
    Resumed,
    /// A server we are in, with its channels and threads.
    Guild(Box<Guild>),
    /// An event whose order matters.
    Ordered(Box<Event>),
    /// A message by serenity's own way, which keeps no order: for those that came before ours was laid.
    Message(Box<Message>),
    /// A command, a button or a form.
    Interaction(Context, Box<Interaction>),
}

/// How alive the connection is, for health and readiness. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct GatewayHealth(Arc<Health>);

#[derive(Debug, Default)]
struct Health {
    is_ready: watch::Sender<bool>,
    last_event_ms: AtomicI64,
}

impl GatewayHealth {
    /// When the gateway last said anything.
    pub fn last_event_at(&self) -> Option<DateTime<Utc>> {
        match self.0.last_event_ms.load(Ordering::Relaxed) {
            0 => None,
            millis => DateTime::from_timestamp_millis(millis),
        }
    }

    /// Whether the gateway has accepted us, and has not been given up since.
    pub fn is_ready(&self) -> bool {
        *self.0.is_ready.borrow()
    }

    /// Waits until the gateway has accepted us.
    pub async fn becomes_ready(&self) {
        self.waits_for(true).await;
    }

    /// Waits until the connection is gone.
    pub async fn is_lost(&self) {
        self.waits_for(false).await;
    }

    async fn waits_for(&self, wanted: bool) {
        let mut is_ready = self.0.is_ready.subscribe();
        // The sender lives as long as we do.
        let _ = is_ready.wait_for(|is_ready| *is_ready == wanted).await;
    }

    fn saw_event(&self) {
        self.0
            .last_event_ms
            .store(Utc::now().timestamp_millis(), Ordering::Relaxed);
    }

    fn set_ready(&self, is_ready: bool) {
        self.0.is_ready.send_replace(is_ready);
    }
}

/// Where Discord is and who we are there.
pub(super) struct Gateway {
    pub(super) token: String,
    /// Another address than Discord's own.
    pub(super) base: Option<String>,
    pub(super) rest: Rest,
    pub(super) health: GatewayHealth,
    pub(super) signals: UnboundedSender<Signal>,
    /// When we identified last, whatever became of it.
    pub(super) identified: Mutex<Option<Instant>>,
}

/// How one serenity ended.
enum Ended {
    Stopped,
    Lost(String),
}

impl Gateway {
    /// Stays connected until `stop`.
    ///
    /// # Errors
    ///
    /// When Discord will never accept us: a wrong token, a missing intent.
    pub(super) async fn run(self, stop: CancellationToken) -> Result<(), DiscordError> {
        let mut pause = FIRST_PAUSE;
        loop {
            let began = Instant::now();
            let ended = self.connect_once(&stop).await;
            self.health.set_ready(false);
            let reason = match ended? {
                Ended::Stopped => return Ok(()),
                Ended::Lost(reason) => reason,
            };
            if began.elapsed() > HELD {
                pause = FIRST_PAUSE;
            }
            warn!("the connection to Discord is made anew in {pause:?}: {reason}");
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = tokio::time::sleep(pause) => {}
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn connect_once(&self, stop: &CancellationToken) -> Result<Ended, DiscordError> {
        let (local, http) = match (Local::open().await, line_client()) {
            (Ok(local), Ok(http)) => (local, http),
            (Err(error), _) => return Ok(Ended::Lost(error.to_string())),
            (_, Err(error)) => return Ok(Ended::Lost(error.to_string())),
        };
        let mut client = match self.client().await {
            Ok(client) => client,
            Err(error) => return Ok(Ended::Lost(error.to_string())),
        };
        match local.address() {
            Ok(address) => *client.ws_url.lock().await = address,
            Err(error) => return Ok(Ended::Lost(error.to_string())),
        }
        let (to_serenity, payloads) = mpsc::unbounded_channel();
        let (says, said) = mpsc::unbounded_channel();
        let local = tokio::spawn(local.serve(payloads, says));
        let shards = Arc::clone(&client.shard_manager);
        self.say(Signal::Client(Arc::clone(&shards)));
        let relay = Relay::new(self, &http, to_serenity, said);
        let ended = tokio::select! {
            ended = relay.run(stop) => ended,
            ended = client.start() => Ok(Ended::Lost(match ended {
                Ok(()) => "serenity ended the connection".into(),
                Err(error) => error.to_string(),
            })),
        };
        if timeout(CLOSE_WITHIN, shards.shutdown_all()).await.is_err() {
            warn!("serenity did not close in time and was left");
        }
        local.abort();
        // It ended, or was told to; a panic in it was reported by itself.
        let _ = local.await;
        ended
    }

    fn say(&self, signal: Signal) {
        // The room listens as long as the gateway runs; at the end nobody needs to hear it.
        let _ = self.signals.send(signal);
    }

    async fn client(&self) -> Result<Client, serenity::Error> {
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

    async fn message(&self, _: Context, message: Message) {
        self.say(Signal::Message(Box::new(message)));
    }

    async fn interaction_create(&self, context: Context, interaction: Interaction) {
        self.say(Signal::Interaction(context, Box::new(interaction)));
    }
}
