//! The data that the daemon passes to the helper, as one line of JSON.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::command::{Limits, Network};

/// First argument that turns the `chorus` binary into the helper.
pub const HELPER_COMMAND: &str = "__sandbox";

/// Second argument: watch over one command from outside its sandbox.
pub(super) const SUPERVISE: &str = "supervise";

/// Second argument: confine yourself and become the command.
pub(super) const CONFINE: &str = "confine";

/// Sent to a supervisor, after its job, to end the command cleanly; closing the socket means the same.
pub(super) const IN_ORDER: u8 = b'.';

/// Sent to end the command at once, even while it is already being ended.
pub(super) const AT_ONCE: u8 = b'!';

/// The answer of the inner half once it is confined.
pub(super) const CONFINED: &str = "ok";

/// The path of the helper's binary inside bubblewrap.
pub(super) const HELPER_INSIDE: &str = "/.chorus-sandbox";

/// The path of a relay's socket inside bubblewrap.
pub(super) const RELAY_INSIDE: &str = "/.chorus-relay";

/// Second argument: pass on connections of a program to its relay, inside its sandbox.
pub(super) const RELAY: &str = "relay";

/// One command for a supervisor, after the line with the files of control groups to write its pid to.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Job {
    /// Command line of bubblewrap up to `--`; empty without it.
    pub(super) wrapper: Vec<String>,
    /// What ends it besides itself.
    pub(super) life: Lifetime,
    /// The workspace with the repository to repair after the end; `None` with the sandbox off.
    pub(super) repository: Option<PathBuf>,
    /// How the command's own process confines itself.
    pub(super) confinement: Confinement,
}

/// The lifetime of a command.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Lifetime {
    /// It ends when the other end of the supervisor's standard input is closed.
    Attached,
    /// It ends then too, but quickly: the daemon no longer talks to it.
    Talking,
    /// It continues without the daemon; its exit code is written to a file.
    Detached { exit_file: PathBuf },
}

/// How a process confines itself before it becomes the command.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Confinement {
    /// The program that it becomes.
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<String>,
    pub(super) input: Input,
    /// The folder through which it enters: a workspace, or the home of a program.
    pub(super) workspace: PathBuf,
    /// The folder that the workspace must be.
    pub(super) pin: Option<InodePin>,
    /// Its working directory, in the workspace.
    pub(super) directory: PathBuf,
    pub(super) environment: BTreeMap<String, String>,
    pub(super) limits: Limits,
    /// Files that must still be the intended ones, checked before anything runs.
    pub(super) inode_pins: Vec<InodePin>,
    /// The access rules of Landlock and seccomp; `None` with the sandbox off.
    pub(super) access: Option<AccessRules>,
    /// The socket of its relay, inside the sandbox.
    #[serde(default)]
    pub(super) relay: Option<PathBuf>,
}

/// The standard input of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Input {
    /// Nothing to read.
    Empty,
    /// The stream that was passed.
    Given,
}

/// Landlock and seccomp.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct AccessRules {
    /// Paths that can be read and executed, with everything below.
    pub(super) read: Vec<PathBuf>,
    /// Folders that can be listed; their entries cannot be read.
    pub(super) list: Vec<PathBuf>,
    /// Paths that can be written, with everything below.
    pub(super) write: Vec<PathBuf>,
    /// Folders that can be written, with everything below, as long as they are the intended ones.
    pub(super) write_pinned: Vec<InodePin>,
    /// Whether the network is reachable.
    pub(super) network: Network,
    /// Whether bubblewrap surrounds it.
    pub(super) namespaces: Namespaces,
    /// Whether it may use ports of its own loopback where it does not reach the network.
    #[serde(default)]
    pub(super) loopback: Loopback,
}

/// The ports of a program's own loopback.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Loopback {
    #[default]
    Closed,
    /// For a program that reaches its relay there. Its network namespace leads nowhere else.
    Open,
}

/// The namespaces around the sandbox layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Namespaces {
    /// Namespaces of bubblewrap: separate processes, separate file tree, separate network if it is off.
    Bubblewrap,
    None,
}

/// A file or folder that must still be the intended one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InodePin {
    /// Its path.
    pub path: PathBuf,
    pub device: u64,
    /// Its inode number.
    pub inode: u64,
}

/// The supervisor's message to the daemon at the end, as one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Report {
    /// The command ran and left this exit code.
    Exited(i32),
    /// It never ran, for this reason.
    Failed(String),
}
