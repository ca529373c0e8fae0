//! Keeps a shell from changing the programs that git runs in its workspace.
//!
//! Some names in `.git` decide which programs git runs, and where it finds its configuration and its objects, for the
//! next user of the repository. A shell may commit, so `.git` stays writable, but these names are mounted read-only
//! over themselves. Missing ones are first created with content that changes nothing, because a mount needs a target.
//! Their folders become mount points, so that they cannot be moved away.
//!
//! Another command of the same agent may replace any of them with a link meanwhile. So each is checked by descriptor here
//! and again, by inode, inside the finished sandbox ([`InodePin`]).

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, mkdirat, openat, statat};
use rustix::io::Errno;

use super::job::InodePin;
use super::repair::{self, ITSELF};

/// Mounts that protect a workspace's repository.
#[derive(Debug, Default)]
pub(super) struct Guard {
    /// Mounted over themselves, writable.
    pub(super) pinned: Vec<PathBuf>,
    /// Mounted over themselves, read-only.
    pub(super) frozen: Vec<PathBuf>,
    /// The file that each of them must be.
    pub(super) inode_pins: Vec<InodePin>,
}

/// A name in a repository that a shell must not change.
enum Part {
    /// A file, with content that changes nothing.
    File(&'static str, &'static str),
    Folder(&'static str),
    /// A folder that may be written except for these names in it.
    Nested(&'static str, &'static [Part]),
}

/// `modules` and `worktrees` are not among them, because `git submodule` and `git worktree` write there. Their contents
/// are used only from folders below the workspace, and a shell may write the `.git` of those anyway. `gitdir` is not
/// either, because it has no effect here.
const PARTS: &[Part] = &[
    Part::File("config", ""),
    Part::File("config.worktree", ""),
    Part::File(repair::COMMON, ITSELF),
    Part::Folder("hooks"),
    Part::Folder("info"),
    Part::Nested(
        "objects",
        &[Part::Nested("info", &[Part::File("alternates", "")])],
    ),
];

/// Guards the repository of `workspace`; without one there is nothing to guard.
pub(super) fn repository(workspace: &Path, pin: Option<&InodePin>) -> std::io::Result<Guard> {
    // Repairs the leftovers of a command after its supervisor was killed.
    repair::repository(workspace, pin);
    let mut guard = Guard::default();
    let folder = repair::open_workspace(workspace, pin)?;
    let git = match open_folder(&folder, ".git") {
        Ok(git) => git,
        // A file or a link: the git tools refuse such a repository.
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(guard),
        Err(error) => return Err(error.into()),
    };
    let path = workspace.join(".git");
    guard.inode_pin(path.clone(), rustix::fs::fstat(&git)?);
    guard.pinned.push(path.clone());
    let is_held = match guard.hold(&git, &path, PARTS) {
        // Another user's repository, in which nothing can be created.
        Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) => false,
        held => held?,
    };
    if !is_held {
        // A link among them leads to an unknown place: then nothing in this repository is writable.
        guard.inode_pins.truncate(1);
        guard.pinned.clear();
        guard.frozen = vec![path];
    }
    Ok(guard)
}

impl Guard {
    /// Protects `parts` of the folder `path`; false if one of them is of the wrong type.
    fn hold(&mut self, folder: &OwnedFd, path: &Path, parts: &[Part]) -> rustix::io::Result<bool> {
        for part in parts {
            let path = path.join(part.name());
            let stat = part.present(folder)?;
            if FileType::from_raw_mode(stat.st_mode) != part.kind() {
                return Ok(false);
            }
            self.inode_pin(path.clone(), stat);
            match part {
                Part::File(..) | Part::Folder(_) => self.frozen.push(path),
                Part::Nested(name, inner) => {
                    self.pinned.push(path.clone());
                    let below = match open_folder(folder, name) {
                        Ok(below) => below,
                        Err(Errno::NOTDIR | Errno::LOOP) => return Ok(false),
                        Err(error) => return Err(error),
                    };
                    if !self.hold(&below, &path, inner)? {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }

    fn inode_pin(&mut self, path: PathBuf, stat: Stat) {
        self.inode_pins.push(InodePin {
            path,
            device: stat.st_dev,
            inode: stat.st_ino,
        });
    }
}

impl Part {
    fn name(&self) -> &'static str {
        match self {
            Self::File(name, _) | Self::Folder(name) | Self::Nested(name, _) => name,
        }
    }

    fn kind(&self) -> FileType {
        match self {
            Self::File(..) => FileType::RegularFile,
            Self::Folder(_) | Self::Nested(..) => FileType::Directory,
        }
    }

    /// Checks it in `folder`, and creates it if it is missing.
    fn present(&self, folder: &OwnedFd) -> rustix::io::Result<Stat> {
        let name = self.name();
        match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => {}
            found => return found,
        }
        let made = match self {
            Self::File(_, content) => repair::write_new(folder, name, content),
            Self::Folder(_) | Self::Nested(..) => mkdirat(folder, name, Mode::from_raw_mode(0o755)),
        };
        match made {
            Ok(()) | Err(Errno::EXIST) => statat(folder, name, AtFlags::SYMLINK_NOFOLLOW),
            Err(error) => Err(error),
        }
    }
}

fn open_folder(at: &OwnedFd, name: &str) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
    openat(at, name, flags, Mode::empty())
}
