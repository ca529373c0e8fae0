//! The playground as `chorus playground` runs it: local Discord, model and page, and the environment of a daemon in it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::discord::Discord;
use super::model::{self, DemoModel};
use super::page;
use super::server::Options;

/// Time over which changes of the local Discord are written together.
const SAVE_EVERY: Duration = Duration::from_secs(2);

/// Which model agents of the playground ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelSource {
    /// The demo model.
    Demo,
    /// Whatever keys and addresses the environment holds.
    Real,
}

/// Why the playground does not start.
#[derive(Debug, thiserror::Error)]
pub enum PlaygroundError {
    /// Somebody else has the page's port.
    #[error(
        "port {0} is taken: choose another with `chorus playground --port <PORT>`, or end what holds it"
    )]
    PortTaken(u16),
    /// The page's port may not be had.
    #[error(
        "port {port} cannot be listened on ({source}): choose another with `chorus playground --port <PORT>`"
    )]
    Port {
        /// The port.
        port: u16,
        /// What the system said.
        source: io::Error,
    },
    /// The home directory cannot be made or written.
    #[error("{} cannot be written ({source}): choose another directory with `chorus playground --home <DIR>`", path.display())]
    Home {
        /// The directory or the file in it.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A server of ours did not start.
    #[error("the local Discord cannot be started: {0}")]
    Server(#[from] io::Error),
}

/// A running playground, as yet without a daemon in it.
#[derive(Debug)]
pub struct Playground {
    /// The local Discord.
    pub discord: Discord,
    model: Option<DemoModel>,
    address: SocketAddr,
    home: PathBuf,
    page: JoinHandle<io::Result<()>>,
    keeper: JoinHandle<()>,
    stop: CancellationToken,
}

impl Playground {
    /// Starts the local Discord, the model and the page. Nothing is left behind when it fails.
    ///
    /// # Errors
    ///
    /// When the port is taken or the home directory cannot be written; see [`PlaygroundError`].
    pub async fn start(
        home: &Path,
        port: u16,
        brain: ModelSource,
    ) -> Result<Self, PlaygroundError> {
        let listener = bind(port).await?;
        let address = listener.local_addr()?;
        prepare(home, brain)?;
        let folder = Some(home.join("discord"));
        let discord = Discord::start(Options {
            folder,
            ..Options::default()
        })
        .await?;
        let model = match brain {
            ModelSource::Demo => Some(DemoModel::start().await?),
            ModelSource::Real => None,
        };
        let stop = CancellationToken::new();
        let page = tokio::spawn(page::serve(discord.clone(), listener, stop.clone()));
        let keeper = tokio::spawn(keep(discord.clone()));
        Ok(Self {
            discord,
            model,
            address,
            home: home.to_owned(),
            page,
            keeper,
            stop,
        })
    }

    /// Where the page is, such as `http://127.0.0.1:8300`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The environment of a daemon that lives in here; it goes over the environment there is.
    pub fn variables(&self) -> Vec<(String, String)> {
        let mut variables = vec![
            ("CHORUS_HOME", self.home.display().to_string()),
            ("DISCORD_TOKEN", self.discord.token().to_owned()),
            ("CHORUS_DISCORD_API_URL", self.discord.base_url().to_owned()),
            // Newcomers often sit in a container, where everybody is root.
            ("CHORUS_ALLOW_ROOT", "1".to_owned()),
            ("DEV_GUILD_ID", String::new()),
        ];
        if let Some(model) = &self.model {
            variables.push(("ANTHROPIC_BASE_URL", model.base_url().to_owned()));
            variables.push(("ANTHROPIC_API_KEY", "demo".to_owned()));
        }
        variables
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }

    /// Ends all of it. The daemon must have ended before.
    pub async fn stop(self) {
        self.keeper.abort();
        save(&self.discord).await;
        self.discord.stop();
        if let Some(model) = &self.model {
            model.stop();
        }
        self.stop.cancel();
        // An open page would be waited for; it notices by itself that we are gone.
        self.page.abort();
        let _ = self.page.await;
    }
}

/// Writes the local Discord down a little after each change, so that little is lost when the program is killed.
async fn keep(discord: Discord) {
    let mut changes = discord.changes();
    // The sender lives in `discord`: this ends when the task is told to.
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

async fn bind(port: u16) -> Result<TcpListener, PlaygroundError> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    TcpListener::bind(address)
        .await
        .map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => PlaygroundError::PortTaken(port),
            _ => PlaygroundError::Port { port, source },
        })
}

/// Makes the home directory; a new one gets a configuration that asks the demo model.
fn prepare(home: &Path, brain: ModelSource) -> Result<(), PlaygroundError> {
    let at = |path: &Path| {
        let path = path.to_owned();
        |source| PlaygroundError::Home { path, source }
    };
    std::fs::create_dir_all(home).map_err(at(home))?;
    let config = home.join("config.json");
    let is_new = !config.try_exists().map_err(at(&config))?;
    if is_new && brain == ModelSource::Demo {
        let content = format!("{:#}\n", json!({"default_model": model::NAME}));
        std::fs::write(&config, content).map_err(at(&config))?;
    }
    Ok(())
}
