//! What `chorus playground` runs: a local Discord with its page, a model, and the environment of a daemon in them.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use chorus_playground::model::{self, DemoModel};
use chorus_playground::{Options, Playground};
use serde_json::json;
use tokio::net::TcpListener;

/// Which model agents of the playground ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ModelSource {
    Demo,
    /// Whatever keys and addresses the environment holds.
    Real,
}

/// Why the playground does not start.
#[derive(Debug, thiserror::Error)]
pub(super) enum PlaygroundError {
    /// Somebody else has the page's port.
    #[error(
        "port {0} is taken: choose another with `chorus playground --port <PORT>`, or end what holds it"
    )]
    PortTaken(u16),
    /// The page's port may not be had.
    #[error(
        "port {port} cannot be listened on ({source}): choose another with `chorus playground --port <PORT>`"
    )]
    Port { port: u16, source: io::Error },
    /// The home directory cannot be made or written.
    #[error("{} cannot be written ({source}): choose another directory with `chorus playground --home <DIR>`", path.display())]
    Home {
        /// The directory or the file in it.
        path: PathBuf,
        source: io::Error,
    },
    /// A server of ours did not start.
    #[error("the local Discord cannot be started: {0}")]
    Server(#[from] io::Error),
}

/// A trial, as yet without a daemon in it.
pub(super) struct Trial {
    playground: Playground,
    model: Option<DemoModel>,
    home: PathBuf,
}

impl Trial {
    /// Starts the local Discord, the model and the page. Nothing is left behind when it fails.
    pub(super) async fn start(
        home: &Path,
        port: u16,
        source: ModelSource,
    ) -> Result<Self, PlaygroundError> {
        let page = bind(port).await?;
        prepare(home, source)?;
        let options = Options {
            bot: "Chorus".to_owned(),
            folder: Some(home.join("discord")),
            ..Options::default()
        };
        let playground = Playground::start(options, page).await?;
        let model = match source {
            ModelSource::Demo => Some(DemoModel::start().await?),
            ModelSource::Real => None,
        };
        Ok(Self {
            playground,
            model,
            home: home.to_owned(),
        })
    }

    /// Where the page is, such as `http://127.0.0.1:8300`.
    pub(super) fn url(&self) -> String {
        self.playground.url()
    }

    /// The environment of a daemon that lives in here; it goes over the environment there is.
    pub(super) fn variables(&self) -> Vec<(&'static str, String)> {
        let discord = &self.playground.discord;
        let mut variables = vec![
            ("CHORUS_HOME", self.home.display().to_string()),
            ("DISCORD_TOKEN", discord.token().to_owned()),
            ("CHORUS_DISCORD_API_URL", discord.base_url().to_owned()),
            // Newcomers often sit in a container, where everybody is root.
            ("CHORUS_ALLOW_ROOT", "1".to_owned()),
            ("DEV_GUILD_ID", String::new()),
        ];
        if let Some(model) = &self.model {
            variables.push(("ANTHROPIC_BASE_URL", model.base_url().to_owned()));
            variables.push(("ANTHROPIC_API_KEY", "demo".to_owned()));
        }
        variables
    }

    /// Ends all of it. The daemon must have ended before.
    pub(super) async fn stop(self) {
        self.playground.stop().await;
        if let Some(model) = &self.model {
            model.stop();
        }
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
fn prepare(home: &Path, source: ModelSource) -> Result<(), PlaygroundError> {
    let at = |path: &Path| {
        let path = path.to_owned();
        |source| PlaygroundError::Home { path, source }
    };
    std::fs::create_dir_all(home).map_err(at(home))?;
    let config = home.join("config.json");
    let is_new = !config.try_exists().map_err(at(&config))?;
    if is_new && source == ModelSource::Demo {
        let content = format!("{:#}\n", json!({"default_model": model::NAME}));
        std::fs::write(&config, content).map_err(at(&config))?;
    }
    Ok(())
}
