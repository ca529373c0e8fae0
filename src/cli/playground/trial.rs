//! The parts of `chorus playground`: a local Discord with its page, a model, and the environment of a daemon in them.

use std::fs::DirBuilder;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chorus_playground::model::DemoModel;
use chorus_playground::{ModelDesk, Options, Playground};
use tokio::net::TcpListener;

/// Why the playground does not start.
#[derive(Debug, thiserror::Error)]
pub(super) enum PlaygroundError {
    /// Another process uses the page's port.
    #[error(
        "port {0} is taken: choose another with `chorus playground --port <PORT>`, or end the program that uses it"
    )]
    PortTaken(u16),
    /// The page's port is not allowed.
    #[error(
        "cannot listen on port {port} ({source}): choose another with `chorus playground --port <PORT>`"
    )]
    Port { port: u16, source: io::Error },
    /// The home directory cannot be created or written.
    #[error("{} cannot be written ({source}): choose another directory with `chorus playground --home <DIR>`", path.display())]
    Home {
        /// The directory or the file in it.
        path: PathBuf,
        source: io::Error,
    },
    /// One of our servers did not start.
    #[error("the local Discord cannot be started: {0}")]
    Server(#[from] io::Error),
}

/// The servers around a daemon that has not been started yet.
pub(super) struct Trial {
    playground: Playground,
    model: DemoModel,
    home: PathBuf,
}

impl Trial {
    /// Starts the local Discord, the model and the page. Nothing is left behind if it fails.
    pub(super) async fn start(
        home: &Path,
        port: u16,
        desk: Arc<dyn ModelDesk>,
    ) -> Result<Self, PlaygroundError> {
        let page = bind(port).await?;
        prepare(home)?;
        let options = Options {
            bot: "Chorus".to_owned(),
            folder: Some(home.join("discord")),
            models: Some(desk),
            ..Options::default()
        };
        let playground = Playground::start(options, page).await?;
        let model = DemoModel::start().await?;
        Ok(Self {
            playground,
            model,
            home: home.to_owned(),
        })
    }

    /// Returns the address of the page, such as `http://127.0.0.1:8300`.
    pub(super) fn url(&self) -> String {
        self.playground.url()
    }

    /// Returns the environment of a daemon in it; it overrides the real one.
    pub(super) fn variables(&self) -> Vec<(&'static str, String)> {
        let discord = &self.playground.discord;
        vec![
            ("CHORUS_HOME", self.home.display().to_string()),
            ("DISCORD_TOKEN", discord.token().to_owned()),
            ("CHORUS_DISCORD_API_URL", discord.base_url().to_owned()),
            // Newcomers often use a container, where every user is root.
            ("CHORUS_ALLOW_ROOT", "1".to_owned()),
            ("DEV_GUILD_ID", String::new()),
        ]
    }

    /// Returns the address of the demo model, which answers as long as no other is chosen.
    pub(super) fn demo(&self) -> &str {
        self.model.base_url()
    }

    /// Ends all parts of the trial. The daemon must already have ended.
    pub(super) async fn stop(self) {
        self.playground.stop().await;
        self.model.stop();
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

/// Creates the home directory (mode 0700) if `playground` runs without `init`.
fn prepare(home: &Path) -> Result<(), PlaygroundError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(home)
        .map_err(|source| PlaygroundError::Home {
            path: home.to_owned(),
            source,
        })
}
