//! A command to run, the rules it runs under, and how it ended.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::error::NoShell;
use super::job::InodePin;
use crate::config::Config;
use crate::config::effective::Effective;
use crate::domain::SandboxMode;

/// Longest script in bytes: the kernel accepts no longer single argument (128 KiB with its end mark).
pub const MAX_SCRIPT: usize = 128 * 1024 - 1;

/// A shell command of an agent.
#[derive(Clone, Debug)]
pub struct Command {
    /// The script for bash, byte for byte as it was judged.
    pub script: String,
    /// The agent's workspace: writable.
    pub workspace: PathBuf,
    /// The folder that the workspace was when the command was judged; `None` if it cannot have been replaced.
    pub pin: Option<InodePin>,
    /// Its `HOME`.
    pub home: Home,
    /// Its working directory; inside the workspace.
    pub directory: PathBuf,
    pub policy: Policy,
    pub limits: Limits,
}

/// The home of an agent's commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    /// A folder of the agent outside its workspace; created when a command first needs it.
    pub folder: PathBuf,
    pub access: HomeAccess,
}

/// The parts of its home that a command may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HomeAccess {
    /// Everything.
    Whole,
    /// The caches in it; everything else is read-only if the command is confined.
    Caches,
}

/// How an agent's commands are confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Whether a sandbox is required, used where possible, or off.
    pub mode: SandboxMode,
    /// Whether they reach the network.
    pub network: Network,
}

impl Policy {
    /// Returns the policy that applies if neither a server nor an agent sets one.
    pub fn of(config: &Config) -> Self {
        Self {
            mode: config.sandbox,
            network: config.network.into(),
        }
    }

    /// Returns the policy that applies to one agent now.
    pub fn of_agent(effective: &Effective) -> Self {
        Self {
            mode: effective.sandbox,
            network: effective.network.into(),
        }
    }
}

/// Whether a command can reach the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// As the daemon does.
    On,
    Off,
}

impl From<bool> for Network {
    fn from(on: bool) -> Self {
        if on { Self::On } else { Self::Off }
    }
}

/// Resource limits of one command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes of memory: of all its processes if a cgroup can be used, otherwise of each one's writable private memory.
    pub memory: u64,
    pub processes: u64,
    pub file_size: u64,
    /// Open files of one process.
    pub open_files: u64,
}

impl Default for Limits {
    /// Returns enough for a large build, but little enough that a runaway command does not take the machine down.
    fn default() -> Self {
        Self {
            memory: 4 << 30,
            processes: 1024,
            file_size: 8 << 30,
            open_files: 8192,
        }
    }
}

/// What ends a command besides its own end, and where its output goes.
#[derive(Clone, Debug)]
pub struct Bounds {
    pub timeout: Duration,
    /// Ends it almost at once, even while it is already being ended.
    pub abort: CancellationToken,
    /// File for all of its output, created only if the output does not fit into the result.
    pub spool: Option<PathBuf>,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Exited,
    TimedOut,
    /// It was stopped from outside.
    Stopped,
}

/// The outcome of a command.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Exit code as a shell reports it: 128 + n after signal n. `None` if it was ended from outside.
    pub exit: Option<i32>,
    pub ended: Ended,
    /// Standard output and error in the order written; only head and tail if they are too long.
    pub output: Output,
    pub duration: Duration,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The beginning, or all of it.
    pub head: Vec<u8>,
    /// The end, if something in between was left out.
    pub tail: Vec<u8>,
    /// Bytes between head and tail.
    pub omitted: u64,
    /// File with all of it (up to the spool's bound), if something was left out.
    pub whole: Option<PathBuf>,
    /// Bytes that are not in the file either, because the spool's bound was reached.
    pub lost: u64,
}

/// Why a command was not run.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    /// The command itself is invalid; the text explains why.
    #[error("{0}")]
    Invalid(String),
    /// This machine can run no command, regardless of the settings.
    #[error("no command runs here: {0}")]
    NoShell(NoShell),
    /// The settings require a sandbox and there is none.
    #[error(
        "no command runs here: the setting `sandbox` is `required`, but no sandbox works on this machine ({0}). \
         An operator can install bubblewrap, or set `sandbox` to `auto` to run commands behind weaker layers"
    )]
    NoSandbox(String),
    /// The sandbox could not be set up.
    #[error("the sandbox could not be set up: {0}")]
    Setup(String),
    /// A process could not be started or a file not be opened.
    #[error("the command could not be started: {0}")]
    Io(#[from] std::io::Error),
}
