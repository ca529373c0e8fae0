//! Starts a local Discord: one listener for REST, the gateway and uploaded files, only for programs on this machine.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{DefaultBodyLimit, Query, State};
use axum::middleware;
use axum::routing::{any, get};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::desk::limits::Limits;
use super::discord::Discord;
use super::loopback::programs_only;
use super::page::ModelDesk;
use super::rest::answer;
use super::saved;
use super::socket::{self, Packing};
use super::world::World;

/// The options of a local Discord.
#[derive(Clone, Debug)]
pub struct Options {
    /// The address to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The one valid token; a different one at each start.
    pub token: String,
    /// Name of the bot.
    pub bot: String,
    /// Name of the first server.
    pub guild: String,
    /// The owner of that server and of the application.
    pub owner: String,
    /// Whether requests over Discord's rate limits are refused.
    pub limits: Limits,
    /// The folder in which it is stored between starts; `None` means only in memory.
    pub folder: Option<PathBuf>,
    /// Knows which model the bot uses; without it the page does not mention models.
    pub models: Option<Arc<dyn ModelDesk>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            token: fresh_token(),
            bot: "Bot".to_owned(),
            guild: "Playground".to_owned(),
            owner: "ann".to_owned(),
            limits: Limits::Off,
            folder: None,
            models: None,
        }
    }
}

/// Returns a token that cannot be guessed, in Discord's form.
fn fresh_token() -> String {
    let random = || Uuid::new_v4().simple().to_string();
    format!("playground.{}.{}", &random()[..6], random())
}

impl Discord {
    /// Starts a Discord with a server, its `#general`, its owner and the bot.
    ///
    /// # Errors
    ///
    /// Fails if the address cannot be bound, or the contents of its folder are damaged.
    pub async fn start(options: Options) -> io::Result<Self> {
        let listener = TcpListener::bind(options.listen).await?;
        let address = listener.local_addr()?;
        let base = format!("http://{address}");
        let mut world = World::new(base, &options.bot, options.token);
        world.desk.buckets.limits = options.limits;
        let is_restored = match &options.folder {
            Some(folder) => saved::restore(&mut world, folder)?,
            None => false,
        };
        if !is_restored {
            let owner = world.add_user(&options.owner);
            world.application_owner = owner;
            world.add_guild(&options.guild, owner);
        }
        let stop = CancellationToken::new();
        let discord = Self::of(world, options.folder, stop.clone());
        let routes = Router::new()
            .route("/gateway-socket", any(connect))
            .route("/attachments/{id}/{name}", get(answer::attachment))
            .fallback(answer::answer)
            .layer(DefaultBodyLimit::disable())
            .layer(middleware::from_fn_with_state(address, programs_only))
            .with_state(discord.clone());
        tokio::spawn(async move {
            let served = axum::serve(listener, routes)
                .with_graceful_shutdown(async move { stop.cancelled().await })
                .await;
            if let Err(error) = served {
                tracing::error!(%error, "the local Discord ended: {error}");
            }
        });
        Ok(discord)
    }
}

async fn connect(
    State(discord): State<Discord>,
    Query(asked): Query<HashMap<String, String>>,
    upgrade: WebSocketUpgrade,
) -> axum::response::Response {
    let packing = Packing::named(asked.get("compress").map(String::as_str));
    upgrade.on_upgrade(|socket| socket::serve(discord, socket, packing))
}
