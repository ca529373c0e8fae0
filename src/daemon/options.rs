//! What the daemon is started with, and how it ends.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};

use crate::clock::WallClock;
use crate::config::{Config, ConfigError, Env, EnvError, Secret};
use crate::discord::DiscordError;
use crate::llm::places::QueueLimits;
use crate::store::StoreError;
use crate::text::redact::Redactor;

/// What the daemon is started with.
#[derive(Debug)]
pub struct DaemonOptions {
    /// Home, token, addresses and keys.
    pub env: Env,
    /// What `config.json` in the home said; SIGHUP reads it again.
    pub config: Config,
    /// How far the daemon has come, for others.
    pub phase: watch::Sender<Phase>,
    /// Notified to have `config.json` read again.
    pub reload: Arc<Notify>,
    /// Counts finished reloads.
    pub reloaded: watch::Sender<u64>,
    /// Base URL of the demo model, which is asked while no provider is configured.
    pub demo: Option<String>,
    /// Removes all secrets from what is logged, stored and sent. Made once: making it takes long, and it is large.
    pub redactor: Redactor,
    /// How long requests wait for a place at a provider.
    pub queue_limits: QueueLimits,
    /// How long a sub-agent that is to end may take for its last words.
    pub childs_last_words: Duration,
    /// The clock by which schedules and reminders begin.
    pub clock: WallClock,
    /// The `chorus` program, which is its own helper in the sandbox. `None`: this process's own file.
    pub program: Option<PathBuf>,
}

impl DaemonOptions {
    /// The daemon of this environment and the `config.json` in its home.
    ///
    /// # Errors
    ///
    /// When the configuration, or a file that should hold a secret, cannot be read or is wrong.
    pub fn load(env: Env) -> Result<Self, DaemonError> {
        let mut config = Config::load(&env.paths.config())?;
        config.servers.extend(&env.servers);
        let secrets = secrets(&env, &config)?;
        let values = secrets.iter().map(|secret| secret.expose().to_owned());
        Ok(Self {
            redactor: Redactor::new(values.collect()),
            config,
            env,
            phase: watch::Sender::new(Phase::Starting),
            reload: Arc::default(),
            reloaded: watch::Sender::new(0),
            demo: None,
            queue_limits: QueueLimits::default(),
            childs_last_words: Duration::from_secs(30),
            clock: WallClock::default(),
            program: None,
        })
    }
}

/// Every secret the daemon will hold: those of the environment, and those that the configuration names.
pub(super) fn secrets(env: &Env, config: &Config) -> Result<Vec<Secret>, DaemonError> {
    let mut secrets = env.secrets();
    for name in config.secret_names() {
        secrets.extend(env.secret(name)?);
    }
    Ok(secrets)
}

/// How far a daemon has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Opening, recovering, connecting.
    Starting,
    /// The gateway is ready: messages are taken.
    Ready,
    /// Ending turns, saving, closing.
    Stopping,
}

/// Why the daemon ended with an error.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// The operator must change something first; starting again without that would end the same way.
    #[error("{0}")]
    Configuration(String),
    /// Something failed; starting again may help.
    #[error("{0:#}")]
    Failed(anyhow::Error),
}

impl From<ConfigError> for DaemonError {
    fn from(error: ConfigError) -> Self {
        Self::Configuration(error.to_string())
    }
}

impl From<EnvError> for DaemonError {
    fn from(error: EnvError) -> Self {
        Self::Configuration(error.to_string())
    }
}

impl From<DiscordError> for DaemonError {
    fn from(error: DiscordError) -> Self {
        if error.is_configuration() {
            return Self::Configuration(error.to_string());
        }
        Self::Failed(error.into())
    }
}

impl From<StoreError> for DaemonError {
    fn from(error: StoreError) -> Self {
        match error {
            // Trying again would fail the same way, and no start may touch such a database.
            StoreError::Newer { .. }
            | StoreError::Foreign { .. }
            | StoreError::Home { .. }
            | StoreError::OldSqlite { .. } => Self::Configuration(error.to_string()),
            StoreError::Disk { .. }
            | StoreError::Damaged { .. }
            | StoreError::BadRow { .. }
            | StoreError::Locked { .. }
            | StoreError::NotFound(_)
            | StoreError::Closed
            | StoreError::Broken
            | StoreError::Query(_) => Self::Failed(error.into()),
        }
    }
}

impl From<anyhow::Error> for DaemonError {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(error)
    }
}
