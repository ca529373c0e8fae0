//! What the daemon is started with, and how it ends.

use tokio::sync::watch;

use crate::config::{ConfigError, Env, EnvError};

/// What the daemon is started with. Its configuration is `config.json` in the home that `env` names.
#[derive(Debug)]
pub struct DaemonOptions {
    /// Home, token, addresses and keys.
    pub env: Env,
    /// Where the daemon tells how far it has come.
    pub phase: watch::Sender<Phase>,
}

impl DaemonOptions {
    /// The daemon of this environment, with nobody listening to how far it has come.
    pub fn new(env: Env) -> Self {
        Self {
            env,
            phase: watch::Sender::new(Phase::Starting),
        }
    }
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
    /// The operator must change something first; starting again as things are would end the same way.
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

impl From<anyhow::Error> for DaemonError {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(error)
    }
}
