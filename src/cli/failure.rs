//! How a command fails: one sentence, and an exit code that shows who can act.

use std::fmt;
use std::process::ExitCode;

use crate::config::{ConfigError, EnvError};
use crate::daemon::DaemonError;

/// `EX_CONFIG` of sysexits: the service manager does not start the daemon again.
const CONFIGURATION: u8 = 78;

/// The exit code of clap for arguments that cannot be used.
const USAGE: u8 = 2;

#[derive(Debug)]
pub(super) enum Failure {
    /// The operator must change something first.
    Configuration(String),
    /// An option has a value that the command does not accept.
    Usage(String),
    Failed(anyhow::Error),
    /// The answer is no; it was already printed.
    Answered,
}

impl Failure {
    pub(super) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Configuration(_) => ExitCode::from(CONFIGURATION),
            Self::Usage(_) => ExitCode::from(USAGE),
            Self::Failed(_) | Self::Answered => ExitCode::FAILURE,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Configuration(reason) | Self::Usage(reason) => f.write_str(reason),
            Self::Failed(error) => write!(f, "{error:#}"),
            Self::Answered => Ok(()),
        }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::Configuration(error.to_string())
    }
}

impl From<EnvError> for Failure {
    fn from(error: EnvError) -> Self {
        Self::Configuration(error.to_string())
    }
}

impl From<DaemonError> for Failure {
    fn from(error: DaemonError) -> Self {
        match error {
            DaemonError::Configuration(reason) => Self::Configuration(reason),
            DaemonError::Failed(error) => Self::Failed(error),
        }
    }
}
