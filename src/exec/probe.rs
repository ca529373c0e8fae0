//! Finds out which walls, that is, sandbox layers, this machine offers, by trying them.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use crate::domain::SandboxMode;

use super::access;
use super::cgroup::Groups;
use super::command::{Bounds, Command, ExecError, Home, HomeAccess, Limits, Network, Policy};
use super::error::{FailedTrial, MissingLayer};
use super::sandbox::{Sandbox, SandboxInner};
use super::view::{self, MachineView};

/// Longest time for one trial.
const PROBE_TIMEOUT: Duration = Duration::from_secs(20);

/// The parts of the sandbox.
#[derive(Clone, Debug)]
pub struct SandboxSettings {
    /// The `chorus` binary, which is its own helper.
    pub helper: PathBuf,
    /// Whether to search for bubblewrap.
    pub bubblewrap: Bubblewrap,
    /// Folders that commands can read besides the system; empty means the toolchains found in `PATH`.
    pub read: Vec<PathBuf>,
}

/// Whether to search for bubblewrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bubblewrap {
    /// Use it if it is in `PATH` and works.
    Search,
    /// Do not use it.
    Never,
}

impl Sandbox {
    /// Finds out, by real runs, which layers work here.
    ///
    /// # Errors
    ///
    /// Fails if there is no bash, or the helper cannot be started at all.
    pub async fn probe(settings: &SandboxSettings) -> Result<Self, ExecError> {
        let settings = settings.clone();
        let found = spawn_blocking(move || untried(settings)).await;
        let mut parts = found.map_err(io::Error::from)??;
        // Most machines have both layers, which one run shows.
        let trial = Self::of(&parts);
        let all_work = parts.bubblewrap.is_ok()
            && parts.walls.is_ok()
            && trial.attempt(SandboxMode::Required).await.is_ok();
        if !all_work {
            parts = Self::each_alone(parts).await;
        }
        Ok(Self::of(&parts))
    }

    /// Tries the layers one after the other, because a failed run does not show which of them failed.
    async fn each_alone(mut parts: SandboxInner) -> SandboxInner {
        let bubblewrap = parts.bubblewrap;
        parts.bubblewrap = Err(MissingLayer::NotTried);
        if parts.walls.is_ok() {
            // By themselves they do not satisfy `Required`; while bubblewrap has not been tried, `Auto` uses them.
            let tried = Self::of(&parts).attempt(SandboxMode::Auto).await;
            let tried = tried.map_err(MissingLayer::LandlockFails);
            parts.walls = parts.walls.and_then(|version| tried.map(|()| version));
        }
        parts.bubblewrap = bubblewrap;
        if parts.bubblewrap.is_ok() {
            let tried = Self::of(&parts).attempt(SandboxMode::Required).await;
            if let Err(why) = tried {
                parts.bubblewrap = Err(MissingLayer::BubblewrapFails(why));
            }
        }
        parts
    }

    /// Runs a command that does nothing.
    async fn attempt(&self, mode: SandboxMode) -> Result<(), FailedTrial> {
        let made = spawn_blocking(|| {
            let folder = tempfile::tempdir()?;
            std::fs::create_dir(folder.path().join("workspace"))?;
            Ok(folder)
        });
        let folder = made.await.map_err(io::Error::from).flatten();
        let folder = folder.map_err(|error| FailedTrial::Workspace(Arc::new(error)))?;
        let workspace = folder.path().join("workspace");
        let command = Command {
            script: "true".to_owned(),
            directory: workspace.clone(),
            workspace,
            pin: None,
            // The trial uses the stricter one, which needs all of the mounts and rules.
            home: Home {
                folder: folder.path().join("home"),
                access: HomeAccess::Caches,
            },
            policy: Policy {
                mode,
                network: Network::Off,
            },
            limits: Limits::default(),
        };
        let bounds = Bounds {
            timeout: PROBE_TIMEOUT,
            abort: CancellationToken::new(),
            spool: None,
        };
        let finished = self
            .run(&command, bounds, &CancellationToken::new())
            .await
            .map_err(|error| FailedTrial::NotRun(Arc::new(error)))?;
        match finished.exit {
            Some(0) => Ok(()),
            _ => {
                let printed = String::from_utf8_lossy(&finished.output.head);
                Err(FailedTrial::Printed(printed.trim().to_owned()))
            }
        }
    }
}

/// Returns what this machine seems to offer before anything was tried.
fn untried(settings: SandboxSettings) -> Result<SandboxInner, ExecError> {
    let view = MachineView::of_this_machine(&settings.read)
        .map_err(|why| ExecError::Setup(why.to_string()))?;
    let bubblewrap = match settings.bubblewrap {
        Bubblewrap::Never => Err(MissingLayer::SwitchedOff),
        Bubblewrap::Search => {
            let path = view.environment.get("PATH").map_or("", String::as_str);
            view::find("bwrap", path).ok_or(MissingLayer::NotInstalled)
        }
    };
    let walls = match access::version() {
        0 => Err(MissingLayer::NoLandlock),
        version => Ok(version),
    };
    Ok(SandboxInner {
        helper: settings.helper,
        view,
        bubblewrap,
        walls,
        groups: Groups::probe(),
    })
}
