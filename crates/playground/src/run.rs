//! The local Discord with its page, for use in a browser.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::discord::Discord;
use super::page;
use super::server::Options;

/// Changes of the local Discord within this time are written together.
const SAVE_EVERY: Duration = Duration::from_secs(2);

/// A running playground, without a bot yet.
#[derive(Debug)]
pub struct Playground {
    /// The local Discord.
    pub discord: Discord,
    address: SocketAddr,
    page: JoinHandle<io::Result<()>>,
    keeper: JoinHandle<()>,
    stop: CancellationToken,
}

impl Playground {
    /// Starts a local Discord, and its page on a listener that the caller has bound; it must be on loopback.
    ///
    /// # Errors
    ///
    /// Fails like [`Discord::start`].
    pub async fn start(options: Options, page: TcpListener) -> io::Result<Self> {
        let address = page.local_addr()?;
        let desk = options.models.clone();
        let discord = Discord::start(options).await?;
        let stop = CancellationToken::new();
        let page = tokio::spawn(page::serve(discord.clone(), page, desk, stop.clone()));
        let keeper = tokio::spawn(keep(discord.clone()));
        Ok(Self {
            discord,
            address,
            page,
            keeper,
            stop,
        })
    }

    /// Returns the address of the page, such as `http://127.0.0.1:8300`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Saves the local Discord and ends it. The bot should already have ended.
    pub async fn stop(self) {
        self.keeper.abort();
        save(&self.discord).await;
        self.discord.stop();
        self.stop.cancel();
        // Closing would wait for an open page, which notices by itself that the server has gone.
        self.page.abort();
        let _ = self.page.await;
    }
}

/// Writes the local Discord to its folder shortly after each change, so that little is lost if the program is killed.
async fn keep(discord: Discord) {
    let mut changes = discord.changes();
    // The sender lives in `discord`, so this ends only when the task is aborted.
    while changes.changed().await.is_ok() {
        tokio::time::sleep(SAVE_EVERY).await;
        save(&discord).await;
    }
}

async fn save(discord: &Discord) {
    let discord = discord.clone();
    let saved = tokio::task::spawn_blocking(move || discord.save()).await;
    if let Ok(Err(error)) = saved {
        tracing::warn!(%error, "the local Discord cannot be saved: {error}");
    }
}
