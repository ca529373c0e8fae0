//! Commands of agents, run for real behind the walls that this machine offers.

mod basics;
mod effects;
mod endings;
mod home;
mod limits;
mod programs;
mod repository;
mod worktrees;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chorus::domain::SandboxMode;
use chorus::exec::{
    Bounds, Bubblewrap, Command, ExecError, Finished, Home, HomeAccess, Limits, Network, Policy,
    Sandbox, SandboxSettings,
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::poll::until;

/// Long enough that only a command that hangs reaches it.
const LONG: Duration = Duration::from_secs(120);

/// An agent's workspace and the walls around its shell.
struct Shell {
    sandbox: Sandbox,
    folder: TempDir,
    policy: Policy,
    limits: Limits,
    /// What its commands may write in their home.
    access: HomeAccess,
}

impl Shell {
    /// A shell behind the strongest walls there are.
    async fn strongest() -> Self {
        Self::with(Bubblewrap::Search).await
    }

    /// A shell behind Landlock and seccomp alone.
    async fn without_bubblewrap() -> Self {
        Self::with(Bubblewrap::Never).await
    }

    async fn with(bubblewrap: Bubblewrap) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("workspace")).unwrap();
        // By a name of its own, so that its processes are told from those of other tests.
        let helper = folder.path().join("helper");
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_chorus"), &helper).unwrap();
        let settings = SandboxSettings {
            helper,
            bubblewrap,
            read: Vec::new(),
        };
        Self {
            sandbox: Sandbox::probe(&settings).await.unwrap(),
            folder,
            policy: Policy {
                mode: match bubblewrap {
                    Bubblewrap::Search => SandboxMode::Required,
                    Bubblewrap::Never => SandboxMode::Auto,
                },
                network: Network::Off,
            },
            limits: Limits::default(),
            access: HomeAccess::Whole,
        }
    }

    /// The same shell, whose commands may write caches in their home and nothing else there.
    fn with_caches_only(self) -> Self {
        Self {
            access: HomeAccess::Caches,
            ..self
        }
    }

    fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    /// A path beside the workspace, which the shell must not reach.
    fn outside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, script: &str) -> Command {
        Command {
            script: script.to_owned(),
            workspace: self.workspace(),
            pin: None,
            directory: self.workspace(),
            home: Home {
                folder: self.outside("home"),
                access: self.access,
            },
            policy: self.policy,
            limits: self.limits,
        }
    }

    async fn run(&self, script: &str) -> Finished {
        self.try_run(script, LONG).await.unwrap()
    }

    async fn try_run(&self, script: &str, timeout: Duration) -> Result<Finished, ExecError> {
        let bounds = Bounds {
            timeout,
            abort: CancellationToken::new(),
            spool: Some(self.outside("spool")),
        };
        self.sandbox
            .run(&self.command(script), bounds, &CancellationToken::new())
            .await
    }
}

/// Everything that was kept of the output.
fn printed(finished: &Finished) -> String {
    let mut bytes = finished.output.head.clone();
    bytes.extend_from_slice(&finished.output.tail);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Processes of this machine whose command line holds `marker`.
fn processes_with(marker: &str) -> Vec<String> {
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| command_line(&entry.ok()?.path()))
        .filter(|line| line.contains(marker))
        .collect()
}

fn command_line(process: &Path) -> Option<String> {
    let line = fs::read(process.join("cmdline")).ok()?;
    Some(String::from_utf8_lossy(&line).replace('\0', " "))
}
