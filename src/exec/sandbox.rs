//! Which walls this machine offers, found out by trying, and what it takes to put one command behind them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::domain::SandboxMode;

use super::access;
use super::ahead::Ahead;
use super::bubblewrap::{self, Tree};
use super::cgroup::{Group, Groups};
use super::command::{Command, ExecError, Limits, MAX_SCRIPT, Network, Policy};
use super::guard;
use super::job::{Around, Confinement, Job, Life, Walls};
use super::run::Bounds;
use super::view::{self, View};

/// How long one try at start may take.
const PROBE_TIMEOUT: Duration = Duration::from_secs(20);

/// Device files that a command may use where it has no `/dev` of its own.
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// What root may read of `/proc` where it has no `/proc` of its own: the rest shows other processes.
const PROC_OF_ROOT: &[&str] = &[
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/loadavg",
    "/proc/uptime",
    "/proc/version",
    "/proc/filesystems",
    "/proc/sys",
];

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

/// The walls of this machine. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Sandbox {
    parts: Arc<Parts>,
    /// None while the walls are tried out: no further command follows.
    ahead: Option<Arc<Ahead>>,
}

#[derive(Clone, Debug)]
struct Parts {
    helper: PathBuf,
    view: View,
    /// Bubblewrap, or why there is none.
    bubblewrap: Result<PathBuf, String>,
    /// Landlock's version with seccomp beside it, or why they do not work.
    walls: Result<u32, String>,
    /// Limits on all of a command together, where they can be had.
    groups: Option<Arc<Groups>>,
}

impl Sandbox {
    /// Finds out, by one real run each, which layers work here.
    ///
    /// # Errors
    ///
    /// When there is no bash, or the helper cannot be started at all.
    pub async fn probe(settings: &SandboxSettings) -> Result<Self, ExecError> {
        let view = View::of_this_machine(&settings.read).map_err(ExecError::Setup)?;
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
        let mut parts = Parts {
            helper: settings.helper.clone(),
            view,
            bubblewrap: Err("not tried yet".to_owned()),
            walls,
            groups: Groups::probe(),
        };
        if parts.walls.is_ok() {
            let tried = Self::of(&parts).attempt(SandboxMode::Required).await;
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
        Ok(Self {
            ahead: Some(Arc::default()),
            ..Self::of(&parts)
        })
    }

    /// The layers around a command under `policy`, truthfully, for the log and `/status`.
    pub fn describe(&self, policy: Policy) -> String {
        if policy.mode == SandboxMode::Off {
            return "off (resource limits only)".to_owned();
        }
        let network = match policy.network {
            Network::On => "network on",
            Network::Off => "network off",
        };
        let parts = &self.parts;
        let limits = match parts.groups {
            Some(_) => "cgroup + rlimits",
            None => "rlimits",
        };
        match (&parts.bubblewrap, &parts.walls) {
            (Ok(_), Ok(version)) => {
                format!("bubblewrap + Landlock (ABI {version}) + seccomp + {limits}, {network}")
            }
            (Ok(_), Err(why)) => {
                format!("bubblewrap + seccomp + {limits}, {network} (no Landlock: {why})")
            }
            (Err(why), Ok(version)) => {
                format!("Landlock (ABI {version}) + seccomp + {limits}, {network} ({why})")
            }
            (Err(first), Err(second)) => match policy.mode {
                SandboxMode::Required => {
                    format!("none, so commands are refused ({first}; {second})")
                }
                SandboxMode::Auto | SandboxMode::Off => {
                    format!("NONE: commands run unconfined ({first}; {second})")
                }
            },
        }
    }

    /// Whether any layer stands around a command under `policy`.
    pub fn confines(&self, policy: Policy) -> bool {
        policy.mode != SandboxMode::Off
            && (self.parts.bubblewrap.is_ok() || self.parts.walls.is_ok())
    }

    /// The helper's binary.
    pub(super) fn helper(&self) -> &Path {
        &self.parts.helper
    }

    /// The place for the next command's supervisor.
    pub(super) fn ahead(&self) -> Option<&Ahead> {
        self.ahead.as_deref()
    }

    /// A group that limits one command, where groups can be made.
    ///
    /// # Errors
    ///
    /// When the kernel refuses it.
    pub(super) fn group(&self, limits: &Limits) -> std::io::Result<Option<Group>> {
        let groups = self.parts.groups.as_ref();
        groups.map(|groups| groups.make(limits)).transpose()
    }

    /// What a supervisor is to do for one command.
    ///
    /// # Errors
    ///
    /// When the command cannot be run as it is, or not as confined as the settings ask.
    pub(super) fn job(
        &self,
        command: &Command,
        scratch: &Path,
        life: Life,
    ) -> Result<Job, ExecError> {
        check(&command.script)?;
        let parts = &self.parts;
        let mut environment = parts.view.environment.clone();
        let home = command.workspace.display().to_string();
        environment.insert("HOME".to_owned(), home);
        let mut job = Job {
            wrapper: Vec::new(),
            life,
            grace_ms: u64::try_from(super::GRACE.as_millis()).unwrap_or(u64::MAX),
            confinement: Confinement {
                shell: parts.view.shell.clone(),
                script: command.script.clone(),
                directory: command.directory.clone(),
                environment,
                limits: command.limits,
                landmarks: Vec::new(),
                walls: None,
            },
        };
        match (command.policy.mode, &parts.bubblewrap, &parts.walls) {
            (SandboxMode::Off, _, _) => {}
            (_, Ok(bubblewrap), _) => self.inside_bubblewrap(&mut job, command, bubblewrap)?,
            (_, Err(_), Ok(_)) => self.behind_walls(&mut job, command, scratch),
            (SandboxMode::Auto, Err(_), Err(_)) => {}
            (SandboxMode::Required, Err(first), Err(second)) => {
                return Err(ExecError::NoSandbox(format!("{first}; {second}")));
            }
        }
        Ok(job)
    }

    fn inside_bubblewrap(
        &self,
        job: &mut Job,
        command: &Command,
        bubblewrap: &Path,
    ) -> Result<(), ExecError> {
        let guard = guard::repository(&command.workspace)?;
        let tree = Tree {
            view: &self.parts.view,
            helper: &self.parts.helper,
            workspace: &command.workspace,
            guard: &guard,
            network: command.policy.network,
        };
        job.wrapper = bubblewrap::line(bubblewrap, &tree).map_err(ExecError::Setup)?;
        job.confinement.landmarks = guard.landmarks;
        // The tree holds nothing that may not be read; what may be written is said twice.
        job.confinement.walls = Some(Walls {
            read: vec!["/".into()],
            list: Vec::new(),
            write: vec![command.workspace.clone(), "/tmp".into(), "/dev".into()],
            network: command.policy.network,
            around: Around::Bubblewrap,
        });
        Ok(())
    }

    fn behind_walls(&self, job: &mut Job, command: &Command, scratch: &Path) {
        let view = &self.parts.view;
        let mut read = view.system.clone();
        read.extend(view.open.iter().cloned());
        read.extend(view.tools.iter().cloned());
        read.extend(view.resolver.clone());
        if rustix::process::geteuid().is_root() {
            read.extend(PROC_OF_ROOT.iter().map(PathBuf::from));
        } else {
            read.push("/proc".into());
        }
        let mut write = vec![command.workspace.clone(), scratch.to_owned()];
        write.extend(DEVICES.iter().map(PathBuf::from));
        job.confinement
            .environment
            .insert("TMPDIR".to_owned(), scratch.display().to_string());
        job.confinement.walls = Some(Walls {
            read,
            list: vec![view::CONFIGURATION.into()],
            write,
            network: command.policy.network,
            around: Around::Nothing,
        });
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

    fn of(parts: &Parts) -> Self {
        Self {
            parts: Arc::new(parts.clone()),
            ahead: None,
        }
    }
}

fn check(script: &str) -> Result<(), ExecError> {
    if script.contains('\0') {
        return Err(ExecError::Invalid(
            "the command holds a NUL character, which no shell can be given".to_owned(),
        ));
    }
    if script.len() > MAX_SCRIPT {
        return Err(ExecError::Invalid(format!(
            "the command has {} bytes, more than the {MAX_SCRIPT} that can be given to a shell; write it to a file \
             and run that",
            script.len()
        )));
    }
    Ok(())
}
