//! The sandbox layers of this machine (its walls), and the parts needed to put one command into them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::domain::SandboxMode;

use super::bubblewrap::{self, Tree};
use super::cgroup::{Group, Groups};
use super::command::{Command, ExecError, HomeAccess, Limits, MAX_SCRIPT, Network, Policy};
use super::error::MissingLayer;
use super::guard;
use super::home;
use super::job::{AccessRules, Confinement, InodePin, Input, Job, Lifetime, Loopback, Namespaces};
use super::view::{self, MachineView};

/// Device files that a command may use if it has no `/dev` of its own.
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// The files that root may read in `/proc` if it has no `/proc` of its own: the rest shows other processes.
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

/// The gaps of Landlock and seccomp by themselves, for the log, `/status` and `chorus doctor`: why they do not satisfy
/// `required`.
const LEFT_OPEN: &str = "Without bubblewrap a command can change the mode, times and attributes of every file that the daemon's \
    user owns, and what git runs in its workspace";

/// The sandbox layers of this machine. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Sandbox {
    parts: Arc<SandboxInner>,
}

/// The parts of a sandbox.
#[derive(Clone, Debug)]
pub(super) struct SandboxInner {
    pub(super) helper: PathBuf,
    pub(super) view: MachineView,
    /// Bubblewrap, or why there is none.
    pub(super) bubblewrap: Result<PathBuf, MissingLayer>,
    /// Landlock's version, with seccomp, or why they do not work.
    pub(super) walls: Result<u32, MissingLayer>,
    /// Limits on all processes of a command together, if they are available.
    pub(super) groups: Option<Arc<Groups>>,
}

impl Sandbox {
    /// Returns the actual layers around a command under `policy`, for the log and `/status`.
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
            (Err(_), _) if policy.mode == SandboxMode::Required => {
                format!("none, so commands are refused ({})", self.missing())
            }
            (Err(why), Ok(version)) => {
                format!(
                    "Landlock (ABI {version}) + seccomp + {limits}, {network} ({why}). {LEFT_OPEN}."
                )
            }
            (Err(_), Err(_)) => {
                format!("NONE: commands run unconfined ({})", self.missing())
            }
        }
    }

    /// Describes where a command under `policy` runs, in words that end a sentence: `Runs …`.
    pub fn in_words(&self, policy: Policy) -> &'static str {
        if policy.mode == SandboxMode::Off {
            return "without a sandbox, with network access";
        }
        match (&self.parts.bubblewrap, &self.parts.walls, policy.network) {
            (Ok(_), _, Network::On) => "in a sandbox, with network access",
            (Ok(_), _, Network::Off) => "in a sandbox, without network access",
            (Err(_), _, _) if policy.mode == SandboxMode::Required => {
                "nowhere: this machine lacks the sandbox that is required"
            }
            (Err(_), Ok(_), Network::On) => "in a partial sandbox, with network access",
            (Err(_), Ok(_), Network::Off) => "in a partial sandbox, without network access",
            (Err(_), Err(_), _) => {
                "without a sandbox, for this machine has none, with network access"
            }
        }
    }

    /// Returns whether any layer confines a command under `policy`.
    pub fn confines(&self, policy: Policy) -> bool {
        policy.mode != SandboxMode::Off
            && (self.parts.bubblewrap.is_ok() || self.parts.walls.is_ok())
    }

    /// Returns whether the sandbox that `policy` requests is complete.
    pub fn is_whole(&self, policy: Policy) -> bool {
        policy.mode == SandboxMode::Off || self.parts.bubblewrap.is_ok()
    }

    /// Returns whether commands under `policy` are refused on this machine.
    pub fn refuses(&self, policy: Policy) -> bool {
        policy.mode == SandboxMode::Required && self.parts.bubblewrap.is_err()
    }

    /// Returns why no sandbox satisfies `required`.
    fn missing(&self) -> String {
        let bubblewrap = self.parts.bubblewrap.as_ref().err();
        let bubblewrap = bubblewrap.map(MissingLayer::to_string).unwrap_or_default();
        match &self.parts.walls {
            Ok(_) => format!("{bubblewrap}; {LEFT_OPEN}"),
            Err(why) => format!("{bubblewrap}; {why}"),
        }
    }

    /// Returns the helper's binary.
    pub(super) fn helper(&self) -> &Path {
        &self.parts.helper
    }

    /// Returns a group that limits one command, if groups can be created.
    pub(super) fn group(&self, limits: &Limits) -> std::io::Result<Option<Group>> {
        let groups = self.parts.groups.as_ref();
        groups.map(|groups| groups.make(limits)).transpose()
    }

    /// Returns the job of the supervisor for one command.
    ///
    /// # Errors
    ///
    /// Fails if the command cannot be run as it is, or not as confined as the settings require.
    pub(super) fn job(
        &self,
        command: &Command,
        scratch: &Path,
        life: Lifetime,
    ) -> Result<Job, ExecError> {
        check(&command.script)?;
        let parts = &self.parts;
        let mut environment = parts.view.environment.clone();
        let caches = home::prepare(&command.home)?;
        let home = &command.home.folder;
        // Named, so that no variable of the daemon leads programs to settings elsewhere.
        for (name, path) in [
            ("HOME", home.clone()),
            ("XDG_CONFIG_HOME", home.join(".config")),
            ("GIT_CONFIG_GLOBAL", home.join(".gitconfig")),
        ] {
            environment.insert(name.to_owned(), path.display().to_string());
        }
        if command.home.access == HomeAccess::Caches {
            let (name, value) = home::LOCAL_TOOLCHAIN;
            environment.insert(name.to_owned(), value.to_owned());
        }
        let mut job = Job {
            wrapper: Vec::new(),
            life,
            repository: (command.policy.mode != SandboxMode::Off)
                .then(|| command.workspace.clone()),
            confinement: Confinement {
                program: parts.view.shell.clone(),
                arguments: vec!["-c".to_owned(), command.script.clone()],
                input: Input::Empty,
                workspace: command.workspace.clone(),
                pin: command.pin.clone(),
                directory: command.directory.clone(),
                environment,
                limits: command.limits,
                inode_pins: Vec::new(),
                access: None,
                relay: None,
            },
        };
        let reach = reach(&mut job, command, caches, self.is_inside(command.policy))?;
        self.confine(&mut job, &reach, command.policy)?;
        if job
            .confinement
            .access
            .as_ref()
            .is_some_and(|access| access.namespaces == Namespaces::None)
        {
            add_scratch(&mut job, scratch);
        }
        Ok(job)
    }

    /// Returns whether bubblewrap surrounds a command under `policy`.
    fn is_inside(&self, policy: Policy) -> bool {
        policy.mode != SandboxMode::Off && self.parts.bubblewrap.is_ok()
    }

    /// Returns the parts of this machine that are visible to every command here.
    pub(super) fn view(&self) -> &MachineView {
        &self.parts.view
    }

    /// Puts `job` into the strongest layers that `policy` allows: it reaches the system and `reach`.
    ///
    /// # Errors
    ///
    /// Fails if there are no such layers and `policy` requires them.
    pub(super) fn confine(
        &self,
        job: &mut Job,
        reach: &Reach,
        policy: Policy,
    ) -> Result<(), ExecError> {
        match (policy.mode, &self.parts.bubblewrap, &self.parts.walls) {
            (SandboxMode::Off, _, _) | (SandboxMode::Auto, Err(_), Err(_)) => Ok(()),
            (_, Ok(bubblewrap), _) => self.inside_bubblewrap(job, reach, policy, bubblewrap),
            (SandboxMode::Required, Err(_), _) => Err(ExecError::NoSandbox(self.missing())),
            (SandboxMode::Auto, Err(_), Ok(_)) => {
                self.behind_walls(job, reach, policy);
                Ok(())
            }
        }
    }

    fn inside_bubblewrap(
        &self,
        job: &mut Job,
        reach: &Reach,
        policy: Policy,
        bubblewrap: &Path,
    ) -> Result<(), ExecError> {
        let tree = Tree {
            view: &self.parts.view,
            helper: &self.parts.helper,
            reach,
            network: policy.network,
        };
        job.wrapper =
            bubblewrap::line(bubblewrap, &tree).map_err(|why| ExecError::Setup(why.to_string()))?;
        // The tree contains only readable paths; Landlock also needs the writable ones.
        let mut write = reach.write.clone();
        write.extend(["/tmp".into(), "/dev".into()]);
        job.confinement.access = Some(AccessRules {
            read: vec!["/".into()],
            list: Vec::new(),
            write,
            write_pinned: reach.pinned.clone(),
            network: policy.network,
            namespaces: Namespaces::Bubblewrap,
            loopback: match reach.relay {
                Some(_) => Loopback::Open,
                None => Loopback::Closed,
            },
        });
        Ok(())
    }

    fn behind_walls(&self, job: &mut Job, reach: &Reach, policy: Policy) {
        let view = &self.parts.view;
        let mut read = view.system.clone();
        read.extend(view.open.iter().cloned());
        read.extend(view.tools.iter().cloned());
        read.extend(view.resolver.clone());
        read.extend(reach.read.iter().cloned());
        if rustix::process::geteuid().is_root() {
            read.extend(PROC_OF_ROOT.iter().map(PathBuf::from));
        } else {
            read.push("/proc".into());
        }
        let mut write = reach.write.clone();
        write.extend(DEVICES.iter().map(PathBuf::from));
        job.confinement.access = Some(AccessRules {
            read,
            list: vec![view::CONFIGURATION.into()],
            write,
            write_pinned: reach.pinned.clone(),
            network: policy.network,
            namespaces: Namespaces::None,
            loopback: Loopback::Closed,
        });
    }

    /// Returns a sandbox with these layers.
    pub(super) fn of(parts: &SandboxInner) -> Self {
        Self {
            parts: Arc::new(parts.clone()),
        }
    }
}

/// The paths that a command or a program reaches besides the system, with everything below them.
#[derive(Clone, Debug, Default)]
pub(super) struct Reach {
    /// Readable.
    pub(super) read: Vec<PathBuf>,
    /// Also writable.
    pub(super) write: Vec<PathBuf>,
    /// Also writable, and must be the intended folders.
    pub(super) pinned: Vec<InodePin>,
    /// Parts of those that cannot be moved away.
    pub(super) held: Vec<PathBuf>,
    /// Parts of those that are read-only.
    pub(super) frozen: Vec<PathBuf>,
    /// The socket of a relay.
    pub(super) relay: Option<PathBuf>,
}

/// Returns the paths that `command` reaches, and the pins of its repository if bubblewrap surrounds it; only bubblewrap
/// can guard the repository.
fn reach(
    job: &mut Job,
    command: &Command,
    caches: Vec<InodePin>,
    is_inside: bool,
) -> Result<Reach, ExecError> {
    let mut reach = Reach::default();
    match command.home.access {
        HomeAccess::Whole => reach.write.push(command.home.folder.clone()),
        HomeAccess::Caches => reach.read.push(command.home.folder.clone()),
    }
    reach.pinned = caches;
    match &command.pin {
        Some(pin) => reach.pinned.push(pin.clone()),
        None => reach.write.push(command.workspace.clone()),
    }
    if is_inside {
        let guard = guard::repository(&command.workspace, command.pin.as_ref())?;
        job.confinement.inode_pins = guard.inode_pins;
        reach.held = guard.pinned;
        reach.frozen = guard.frozen;
    }
    Ok(reach)
}

/// Gives a command without its own `/tmp` a folder instead.
fn add_scratch(job: &mut Job, scratch: &Path) {
    if let Some(access) = &mut job.confinement.access {
        access.write.push(scratch.to_owned());
    }
    job.confinement
        .environment
        .insert("TMPDIR".to_owned(), scratch.display().to_string());
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
