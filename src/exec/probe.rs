//! Which walls this machine offers, found out by trying.

use std::path::PathBuf;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::domain::SandboxMode;

use super::access;
use super::cgroup::Groups;
use super::command::{Bounds, Command, ExecError, Limits, Network, Policy};
use super::sandbox::{Sandbox, SandboxInner};
use super::view::{self, MachineView};

/// How long one try at start may take.
const PROBE_TIMEOUT: Duration = Duration::from_secs(20);

/// What the sandbox is made from.
#[derive(Clone, Debug)]
pub struct SandboxSettings {
    /// The `chorus` binary, which is its own helper.
    pub helper: PathBuf,
    /// Whether to look for bubblewrap.
    pub bubblewrap: Bubblewrap,
    /// Folders that commands can read besides the system; empty means the toolchains found in `PATH`.
    pub read: Vec<PathBuf>,
}

impl SandboxSettings {
    /// The settings for this binary, with nothing added.
    ///
    /// # Errors
    ///
    /// When the path of this binary cannot be had.
    pub fn of_this_binary() -> std::io::Result<Self> {
        Ok(Self {
            helper: std::env::current_exe()?,
            bubblewrap: Bubblewrap::Search,
            read: Vec::new(),
        })
    }
}

/// Whether to look for bubblewrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bubblewrap {
    /// Use it when it is in `PATH` and works.
    Search,
    /// Do without.
    Never,
}

impl Sandbox {
    /// Finds out, by one real run each, which layers work here.
    ///
    /// # Errors
    ///
    /// When there is no bash, or the helper cannot be started at all.
    pub async fn probe(settings: &SandboxSettings) -> Result<Self, ExecError> {
        let view = MachineView::of_this_machine(&settings.read).map_err(ExecError::Setup)?;
        let bubblewrap = match settings.bubblewrap {
            Bubblewrap::Never => Err("bubblewrap is switched off".to_owned()),
            Bubblewrap::Search => {
                let path = view.environment.get("PATH").map_or("", String::as_str);
                view::find("bwrap", path).ok_or_else(|| "bubblewrap is not installed".to_owned())
            }
        };
        let walls = match access::version() {
            0 => Err("this kernel has no Landlock".to_owned()),
            version => Ok(version),
        };
        let mut parts = SandboxInner {
            helper: settings.helper.clone(),
            view,
            bubblewrap: Err("not tried yet".to_owned()),
            walls,
            groups: Groups::probe(),
        };
        if parts.walls.is_ok() {
            // Alone they do not satisfy `Required`; with bubblewrap not tried yet, `Auto` takes them.
            let tried = Self::of(&parts).attempt(SandboxMode::Auto).await;
            parts.walls = parts.walls.and_then(|version| tried.map(|()| version));
        }
        if let Ok(path) = bubblewrap {
            parts.bubblewrap = Ok(path);
            let tried = Self::of(&parts).attempt(SandboxMode::Required).await;
            if let Err(why) = tried {
                parts.bubblewrap = Err(format!("bubblewrap does not work here: {why}"));
            }
        } else {
            parts.bubblewrap = bubblewrap;
        }
        Ok(Self::of(&parts).looking_ahead())
    }

    /// Runs a command that does nothing.
    async fn attempt(&self, mode: SandboxMode) -> Result<(), String> {
        let workspace = tempfile::tempdir().map_err(|error| error.to_string())?;
        let command = Command {
            script: "true".to_owned(),
            workspace: workspace.path().to_owned(),
            directory: workspace.path().to_owned(),
            policy: Policy {
                mode,
                network: Network::Off,
            },
            limits: Limits::default(),
        };
        let bounds = Bounds {
            timeout: PROBE_TIMEOUT,
            spool: None,
        };
        let finished = self
            .run(&command, bounds, &CancellationToken::new())
            .await
            .map_err(|error| error.to_string())?;
        match finished.exit {
            Some(0) => Ok(()),
            _ => Err(String::from_utf8_lossy(&finished.output.head)
                .trim()
                .to_owned()),
        }
    }
}
