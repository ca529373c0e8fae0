//! The parts that serenity and poise need besides an event: a [`Context`] and a [`ShardManager`], without their own
//! connection.
//!
//! A context contains a messenger to a shard, and serenity creates a shard only from a WebSocket. So at the start one
//! shard is connected to this process over loopback, asked for its messenger, and dropped. Nothing is ever sent through
//! it: poise uses it for collectors and its ping, and we use neither.

use std::sync::Arc;
use std::time::Duration;

use serenity::all::{
    Cache, Context, GatewayIntents, Http, HttpBuilder, Shard, ShardId, ShardInfo, ShardManager,
    ShardManagerOptions, ShardMessenger, ShardRunner, ShardRunnerOptions,
};
use serenity::cache::Settings;
use serenity::prelude::{Mutex, RwLock, TypeMap};
use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_tungstenite::accept_async;

use crate::discord::rest::http_client;

/// Longest time for a connection to this process.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// Longest time for a handshake with any program that finds the port.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(1);

/// Why serenity's context could not be created.
#[derive(Debug, thiserror::Error)]
pub(in crate::discord) enum ContextError {
    #[error("loopback does not answer")]
    NoAnswer,
    #[error("{0}")]
    Loopback(#[from] std::io::Error),
    #[error("{0}")]
    Serenity(#[source] Box<serenity::Error>),
}

/// The arguments of poise's dispatch for each interaction.
pub(in crate::discord) struct SerenityContext {
    pub(in crate::discord) context: Context,
    pub(in crate::discord) shards: Arc<ShardManager>,
}

impl SerenityContext {
    /// Creates the context; requests go to `base`, if that is set, instead of Discord.
    ///
    /// # Errors
    ///
    /// Fails if loopback cannot be used.
    pub(in crate::discord) async fn new(
        token: &str,
        base: Option<&str>,
    ) -> Result<Self, ContextError> {
        let http = Arc::new(http(token, base));
        let cache = Arc::new(cache());
        let data = Arc::new(RwLock::new(TypeMap::new()));
        let (shards, _) = ShardManager::new(ShardManagerOptions {
            data: Arc::clone(&data),
            event_handlers: Vec::new(),
            raw_event_handlers: Vec::new(),
            framework: Arc::default(),
            shard_index: 0,
            shard_init: 0,
            shard_total: 1,
            ws_url: Arc::default(),
            cache: Arc::clone(&cache),
            http: Arc::clone(&http),
            intents: GatewayIntents::empty(),
            presence: None,
        });
        let connected = timeout(CONNECT_WITHIN, shard_of_our_own()).await;
        let runner = ShardRunner::new(ShardRunnerOptions {
            data: Arc::clone(&data),
            event_handlers: Vec::new(),
            raw_event_handlers: Vec::new(),
            framework: None,
            manager: Arc::clone(&shards),
            shard: connected.map_err(|_| ContextError::NoAnswer)??,
            cache: Arc::clone(&cache),
            http: Arc::clone(&http),
        });
        let context = Context {
            data,
            shard: ShardMessenger::new(&runner),
            shard_id: ShardId(0),
            http,
            cache,
        };
        Ok(Self { context, shards })
    }
}

fn http(token: &str, base: Option<&str>) -> Http {
    let mut http = HttpBuilder::new(token);
    if let Ok(client) = http_client() {
        http = http.client(client);
    }
    if let Some(base) = base {
        // serenity's limiter would send its requests to discord.com regardless.
        http = http.proxy(base).ratelimiter_disabled(true);
    }
    http.build()
}

fn cache() -> Cache {
    let mut settings = Settings::default();
    settings.max_messages = 0;
    Cache::new_with_settings(settings)
}

/// Creates a shard that is connected only to this process.
async fn shard_of_our_own() -> Result<Shard, ContextError> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await;
    let listener = listener?;
    let address = listener.local_addr()?;
    let url = Arc::new(Mutex::new(format!("ws://{address}")));
    let info = ShardInfo {
        id: ShardId(0),
        total: 1,
    };
    let shard = Shard::new(url, "", info, GatewayIntents::empty(), None);
    tokio::select! {
        shard = shard => shard.map_err(|error| ContextError::Serenity(Box::new(error))),
        error = accept(&listener) => Err(error.into()),
    }
}

/// Answers the handshake of any client; nothing is read after it.
async fn accept(listener: &TcpListener) -> std::io::Error {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(timeout(HANDSHAKE_WITHIN, accept_async(stream)).await),
            Err(error) => return error,
        }
    }
}
