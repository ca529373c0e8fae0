//! The connection to Discord's gateway: started, watched, and made anew when serenity does not get over a loss.
//!
//! serenity reconnects and resumes by itself. What it does not do, this does: it checks the gateway's address first
//! (serenity would silently take the real one), keeps deadlines, notices a connection that is dead without saying
//! so, and turns final close codes into a sentence with the fix. A reconnect touches nothing but the connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use serenity::all::{
    Client, ClientBuilder, Context, Event, EventHandler, GatewayIntents, Guild, HttpBuilder,
    Interaction, Message, Ready, ResumedEvent, ShardId, ShardManager,
};
use serenity::cache::Settings as CacheSettings;
use serenity::gateway::{CollectorCallback, ConnectionStage, GatewayError};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::DiscordError;
use super::rest::{Rest, http_client};
use super::route;

/// How long connecting may take before it is begun anew.
const CONNECT_WITHIN: Duration = Duration::from_secs(40);

/// How long a connection may show no sign of life: Discord acknowledges a heartbeat every 41 s.
const SILENT_FOR: Duration = Duration::from_secs(100);

/// How often the connection is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// The first pause before a new connection; it doubles up to the longest. Discord allows 1,000 identifies a day.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// A connection that held this long starts the pauses anew.
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
    /// A new connection: whatever was said before may have been missed.
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
}

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
        let address = match self.rest.get(route::gateway()).await {
            Ok(answer) => match answer["url"].as_str() {
                Some(url) => url.trim_end_matches('/').to_owned(),
                None => return Ok(Ended::Lost("GET /gateway named no address".into())),
            },
            Err(super::rest::RestError::Unauthorized) => return Err(DiscordError::Token),
            Err(error) => return Ok(Ended::Lost(error.to_string())),
        };
        let handler = Arc::new(Handler {
            signals: self.signals.clone(),
            health: self.health.clone(),
        });
        let mut client = match self.client(Arc::clone(&handler)).await {
            Ok(client) => client,
            Err(error) => return Ok(Ended::Lost(error.to_string())),
        };
        *client.ws_url.lock().await = address;
        let shards = Arc::clone(&client.shard_manager);
        let _ = self.signals.send(Signal::Client(Arc::clone(&shards)));
        let ended = tokio::select! {
            () = stop.cancelled() => Ended::Stopped,
            reason = look_after(&shards, &handler) => Ended::Lost(reason),
            result = client.start() => classify(result)?,
        };
        if tokio::time::timeout(CLOSE_WITHIN, shards.shutdown_all())
            .await
            .is_err()
        {
            warn!("the connection to Discord did not close in time and was left");
        }
        Ok(ended)
    }

    async fn client(&self, handler: Arc<Handler>) -> Result<Client, serenity::Error> {
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
            .event_handler_arc(handler)
            .await
    }
}

/// Ends with the reason when the connection is lost and serenity does not get over it.
async fn look_after(shards: &ShardManager, handler: &Arc<Handler>) -> String {
    let mut without_runner = Instant::now();
    let mut alive = Instant::now();
    let mut last_sign = (None, ConnectionStage::Disconnected, 0);
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let now = Instant::now();
        // serenity's runner holds the handler while it lives: ours, the queuer's, and the runner's own.
        if Arc::strong_count(handler) > 2 {
            without_runner = now;
        }
        if now - without_runner > CONNECT_WITHIN {
            return "there has been no connection for a while".into();
        }
        let runners = shards.runners.lock().await;
        let Some(runner) = runners.get(&ShardId(0)) else {
            continue;
        };
        let last_event = handler.health.0.last_event_ms.load(Ordering::Relaxed);
        let sign = (runner.latency, runner.stage, last_event);
        if sign != last_sign {
            last_sign = sign;
            alive = now;
        }
        let patience = match runner.stage {
            ConnectionStage::Connected => SILENT_FOR,
            _ => CONNECT_WITHIN,
        };
        if now - alive > patience {
            return format!("it has been silent for {} s", (now - alive).as_secs());
        }
    }
}

fn classify(result: Result<(), serenity::Error>) -> Result<Ended, DiscordError> {
    match result {
        Ok(()) => Ok(Ended::Lost("serenity ended the connection".into())),
        Err(serenity::Error::Gateway(GatewayError::InvalidAuthentication)) => {
            Err(DiscordError::Token)
        }
        Err(serenity::Error::Gateway(GatewayError::DisallowedGatewayIntents)) => {
            Err(DiscordError::Intent)
        }
        Err(serenity::Error::Gateway(
            error @ (GatewayError::InvalidGatewayIntents
            | GatewayError::InvalidShardData
            | GatewayError::OverloadedShard),
        )) => Err(DiscordError::Closed(error.to_string())),
        Err(error) => Ok(Ended::Lost(error.to_string())),
    }
}

/// Forwards what serenity reports; decides nothing.
struct Handler {
    signals: UnboundedSender<Signal>,
    health: GatewayHealth,
}

impl Handler {
    fn say(&self, signal: Signal) {
        self.health.saw_event();
        // The room listens as long as the gateway runs; at the end nobody needs to hear it.
        let _ = self.signals.send(signal);
    }

    /// Events in their order: serenity runs a task for each, this is called by its runner itself.
    fn lay_ordered_way(&self, context: &Context) {
        let signals = self.signals.clone();
        let health = self.health.clone();
        let forward = move |event: &Event| {
            health.saw_event();
            match event {
                Event::MessageCreate(_)
                | Event::MessageUpdate(_)
                | Event::MessageDelete(_)
                | Event::MessageDeleteBulk(_)
                | Event::ChannelDelete(_)
                | Event::ThreadDelete(_) => signals
                    .send(Signal::Ordered(Box::new(event.clone())))
                    .is_ok(),
                _ => true,
            }
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

    async fn resume(&self, _: Context, _: ResumedEvent) {
        info!("the connection to Discord goes on where it broke");
        self.say(Signal::Resumed);
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
