//! Control groups: limits on all processes of a command together, if the daemon may create groups.
//!
//! Version 2 needs a delegated group of our own (systemd: `Delegate=memory pids`), version 1 a writable tree. If
//! neither is available, the limits of single processes have to suffice.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use uuid::Uuid;

use super::command::Limits;
use super::process::Process;

/// The file through which processes are put into a group.
const MEMBERS: &str = "cgroup.procs";

/// The leaf that the daemon itself moves to: a group with members cannot delegate its limits.
const OWN_LEAF: &str = "chorus-daemon";

/// Where groups can be created.
#[derive(Debug)]
pub(super) struct Groups {
    parents: Vec<Parent>,
    /// Groups with processes that have not ended yet.
    emptying: Mutex<Vec<PathBuf>>,
}

/// One folder of the group tree, and the limits of groups in it.
#[derive(Debug)]
struct Parent {
    folder: PathBuf,
    controls: &'static [Control],
}

/// One limit of a group.
#[derive(Debug)]
struct Control {
    file: &'static str,
    value: fn(&Limits) -> u64,
    /// Whether the group is useless without it.
    needed: bool,
}

impl Control {
    const fn needed(file: &'static str, value: fn(&Limits) -> u64) -> Self {
        Self {
            file,
            value,
            needed: true,
        }
    }

    const fn welcome(file: &'static str, value: fn(&Limits) -> u64) -> Self {
        Self {
            file,
            value,
            needed: false,
        }
    }
}

const PROCESSES: Control = Control::needed("pids.max", |limits| limits.processes);
const MEMORY_V2: Control = Control::needed("memory.max", |limits| limits.memory);
const MEMORY_V1: Control = Control::needed("memory.limit_in_bytes", |limits| limits.memory);
const SWAP_V2: Control = Control::welcome("memory.swap.max", |_| 0);
const SWAP_V1: Control = Control::welcome("memory.memsw.limit_in_bytes", |limits| limits.memory);
/// Half of the default share of a group of the same kind: even a thousand processes of a command get no more than that
/// together.
const PROCESSOR_V2: Control = Control::welcome("cpu.weight", |_| 50);
const PROCESSOR_V1: Control = Control::welcome("cpu.shares", |_| 512);

impl Groups {
    /// Finds out whether groups with both limits can be created here, by creating one.
    pub(super) fn probe() -> Option<Arc<Self>> {
        let membership = fs::read_to_string("/proc/self/cgroup").ok()?;
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let parents =
            version_2(&membership, &mounts).or_else(|| version_1(&membership, &mounts))?;
        let groups = Arc::new(Self {
            parents,
            emptying: Mutex::default(),
        });
        groups.sweep();
        groups.make(&Limits::default()).ok()?;
        Some(groups)
    }

    /// Creates a group for one command.
    pub(super) fn make(self: &Arc<Self>, limits: &Limits) -> io::Result<Group> {
        self.remove(Vec::new());
        let name = format!("chorus-{}-{}", std::process::id(), Uuid::new_v4().simple());
        let mut group = Group {
            folders: Vec::new(),
            groups: self.clone(),
        };
        for parent in &self.parents {
            let folder = parent.folder.join(&name);
            fs::create_dir(&folder)?;
            group.folders.push(folder);
        }
        group.limit(limits)?;
        Ok(group)
    }

    /// Removes `folders`, and those of earlier calls whose last process had not ended then.
    fn remove(&self, folders: Vec<PathBuf>) {
        let mut emptying = self.emptying.lock();
        emptying.extend(folders);
        emptying.retain(|folder| fs::remove_dir(folder).is_err() && folder.exists());
    }

    /// Removes the groups of ended daemons. A group that still has processes cannot be removed, and stays.
    fn sweep(&self) {
        for parent in &self.parents {
            let Ok(entries) = fs::read_dir(&parent.folder) else {
                continue;
            };
            for entry in entries.flatten() {
                if is_left_over(&entry.file_name().to_string_lossy()) {
                    let _ = fs::remove_dir(entry.path());
                }
            }
        }
    }
}

/// A group for one command, removed once it is dropped and its last process has ended.
#[derive(Debug)]
pub(super) struct Group {
    folders: Vec<PathBuf>,
    groups: Arc<Groups>,
}

impl Group {
    /// Returns the files to write a pid to, so that the process and all its descendants are limited.
    pub(super) fn members(&self) -> Vec<PathBuf> {
        self.folders
            .iter()
            .map(|folder| folder.join(MEMBERS))
            .collect()
    }

    /// Sets what all its processes may use together.
    pub(super) fn limit(&self, limits: &Limits) -> io::Result<()> {
        for (parent, folder) in self.groups.parents.iter().zip(&self.folders) {
            for control in parent.controls {
                let value = (control.value)(limits).to_string();
                let written = fs::write(folder.join(control.file), value);
                if control.needed {
                    written?;
                }
            }
        }
        Ok(())
    }

    /// Leaves the group in place, for a command that outlives the daemon.
    pub(super) fn leave(mut self) {
        self.folders.clear();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.groups.remove(std::mem::take(&mut self.folders));
    }
}

fn is_left_over(name: &str) -> bool {
    let pid = name
        .strip_prefix("chorus-")
        .and_then(|rest| rest.split_once('-'))
        .and_then(|(pid, _)| pid.parse().ok());
    pid.is_some_and(|pid| Process::of(pid).is_none())
}

/// Returns the unified tree, if our group in it can delegate both limits.
fn version_2(membership: &str, mounts: &str) -> Option<Vec<Parent>> {
    let path = membership
        .lines()
        .find_map(|line| line.strip_prefix("0::"))?;
    // At a second call the daemon is already in the leaf.
    let path = path.strip_suffix(OWN_LEAF).unwrap_or(path);
    let own = folder(mounts, path, |kind, _| kind == "cgroup2")?;
    let can = fs::read_to_string(own.join("cgroup.controllers")).ok()?;
    if !["memory", "pids"]
        .iter()
        .all(|name| can.split_whitespace().any(|word| word == *name))
    {
        return None;
    }
    let members = fs::read_to_string(own.join(MEMBERS)).ok()?;
    if members.trim() == std::process::id().to_string() {
        // The group is only ours: move into a leaf, so that limits can be delegated.
        let leaf = own.join(OWN_LEAF);
        let _ = fs::create_dir(&leaf);
        fs::write(leaf.join(MEMBERS), std::process::id().to_string()).ok()?;
    }
    fs::write(own.join("cgroup.subtree_control"), "+memory +pids").ok()?;
    // The controller is missing, or we may not delegate it: then only the priority has an effect.
    let _ = fs::write(own.join("cgroup.subtree_control"), "+cpu");
    Some(vec![Parent {
        folder: own,
        controls: &[MEMORY_V2, SWAP_V2, PROCESSES, PROCESSOR_V2],
    }])
}

/// Returns the trees of single controllers.
fn version_1(membership: &str, mounts: &str) -> Option<Vec<Parent>> {
    let parent = |controller: &'static str, controls| {
        let path = membership.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let named = parts.next()?.split(',').any(|name| name == controller);
            named.then(|| parts.next()).flatten()
        })?;
        let folder = folder(mounts, path, |kind, options| {
            kind == "cgroup" && options.split(',').any(|option| option == controller)
        })?;
        Some(Parent { folder, controls })
    };
    let mut parents = vec![
        parent("memory", &[MEMORY_V1, SWAP_V1])?,
        parent("pids", &[PROCESSES])?,
    ];
    parents.extend(parent("cpu", &[PROCESSOR_V1]).filter(Parent::takes_groups));
    Some(parents)
}

impl Parent {
    /// Returns whether a group can be created in it.
    fn takes_groups(&self) -> bool {
        let name = format!("chorus-{}-try", std::process::id());
        let folder = self.folder.join(name);
        fs::create_dir(&folder).is_ok() && fs::remove_dir(&folder).is_ok()
    }
}

/// Returns the folder where a group with `path` is visible, in the mount that `is_meant` selects by kind and options.
fn folder(mounts: &str, path: &str, is_meant: impl Fn(&str, &str) -> bool) -> Option<PathBuf> {
    // `36 35 98:0 /root /mountpoint options … - kind source options`
    mounts.lines().find_map(|line| {
        let (place, what) = line.split_once(" - ")?;
        let mut what = what.split(' ');
        let (kind, options) = (what.next()?, what.nth(1)?);
        if !is_meant(kind, options) {
            return None;
        }
        let mut place = place.split(' ').skip(3);
        let (root, point) = (place.next()?, place.next()?);
        let below = Path::new(path).strip_prefix(root).ok()?;
        Some(Path::new(point).join(below))
    })
}
