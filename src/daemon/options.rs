//! How the daemon is started, and how it ends.

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

/// The inputs of a daemon's start.
#[derive(Debug)]
pub struct DaemonOptions {
    /// Home, token, addresses and keys.
    pub env: Env,
    /// The content of `config.json` in the home; SIGHUP reads it again.
    pub config: Config,
    /// The phase of the daemon, for others.
    pub phase: watch::Sender<Phase>,
    /// Notified to read `config.json` again.
    pub reload: Arc<Notify>,
    /// Counts finished reloads.
    pub reloaded: watch::Sender<u64>,
    /// Base URL of the demo model, which is used while no provider is configured.
    pub demo: Option<String>,
    /// Removes all secrets from logged, stored and sent text. Created once: it is large and slow to create.
    pub redactor: Redactor,
    /// How long requests wait for a place at a provider.
    pub queue_limits: QueueLimits,
    /// Longest time for the last answer of a sub-agent that has to end.
    pub childs_last_words: Duration,
    /// The clock that starts schedules and reminders.
    pub clock: WallClock,
    /// The `chorus` program, which is its own helper in the sandbox. `None` means this process's own file.
    pub program: Option<PathBuf>,
}

impl DaemonOptions {
    /// Loads the daemon's options from this environment and the `config.json` in its home.
    ///
    /// # Errors
    ///
    /// Fails if the configuration, or a file that should contain a secret, cannot be read or is invalid.
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

/// Returns every secret the daemon will use: those of the environment, and those that the configuration names.
pub(super) fn secrets(env: &Env, config: &Config) -> Result<Vec<Secret>, DaemonError> {
    let mut secrets = env.secrets();
    for name in config.secret_names() {
        secrets.extend(env.secret(name)?);
    }
    Ok(secrets)
}

/// The phase of a daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Opening, recovering, connecting.
    Starting,
    /// The gateway is ready: messages are accepted.
    Ready,
    /// Ending turns, saving, closing.
    Stopping,
}

/// Why the daemon ended with an error.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// The operator must change something first; another start without that would end the same way.
    #[error("{0}")]
    Configuration(String),
    /// Something failed; another start may help.
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
            // Another attempt would fail the same way, and no start may touch such a database.
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
