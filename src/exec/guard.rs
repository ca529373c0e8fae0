//! Keeps a shell from rewriting how git behaves in its workspace.
//!
//! What stands in `.git/config`, `.git/hooks` and `.git/info` decides what git runs, for whoever uses the repository
//! next. A shell may commit, so `.git` stays writable, but those three are mounted read-only over themselves; absent ones
//! are made first, since what does not exist cannot be mounted over. The folder `.git` is itself made a mount point, so
//! that it cannot be moved aside.
//!
//! Another command of the same agent may swap any of them for a link in between. Each is therefore looked at by
//! descriptor here and again, by number, inside the finished sandbox ([`Landmark`]).

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, mkdirat, openat, statat};
use rustix::io::Errno;

use super::job::Landmark;

/// Mounts that protect a workspace's repository.
#[derive(Debug, Default)]
pub(super) struct Guard {
    /// Mounted over themselves, writable.
    pub(super) pinned: Vec<PathBuf>,
    /// Mounted over themselves, read-only.
    pub(super) frozen: Vec<PathBuf>,
    /// What each of them must turn out to be.
    pub(super) landmarks: Vec<Landmark>,
}

/// Guards the repository of `workspace`; without one there is nothing to guard.
///
/// # Errors
///
/// When the workspace cannot be looked at.
pub(super) fn repository(workspace: &Path) -> std::io::Result<Guard> {
    let mut guard = Guard::default();
    let folder = rustix::fs::open(workspace, OFlags::PATH | OFlags::DIRECTORY, Mode::empty())?;
    let git = match openat(
        &folder,
        ".git",
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW,
        Mode::empty(),
    ) {
        Ok(git) => git,
        // A file or a link: the git tools refuse such a repository.
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(guard),
        Err(error) => return Err(error.into()),
    };
    let path = workspace.join(".git");
    guard.landmark(path.clone(), rustix::fs::fstat(&git)?);
    let mut odd = false;
    for (name, kind) in [
        ("config", FileType::RegularFile),
        ("hooks", FileType::Directory),
        ("info", FileType::Directory),
    ] {
        let stat = present(&git, name, kind)?;
        if FileType::from_raw_mode(stat.st_mode) == kind {
            guard.landmark(path.join(name), stat);
            guard.frozen.push(path.join(name));
        } else {
            odd = true;
        }
    }
    if odd {
        // A link among them leads who knows where: nothing in this repository can be written.
        guard.landmarks.truncate(1);
        guard.frozen = vec![path];
    } else {
        guard.pinned.push(path);
    }
    Ok(guard)
}

impl Guard {
    fn landmark(&mut self, path: PathBuf, stat: Stat) {
        self.landmarks.push(Landmark {
            path,
            device: stat.st_dev,
            inode: stat.st_ino,
        });
    }
}

/// Looks at `name`, having made it when there was none.
fn present(git: &OwnedFd, name: &str, kind: FileType) -> rustix::io::Result<Stat> {
    match statat(git, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => {}
        found => return found,
    }
    let made = if kind == FileType::Directory {
        mkdirat(git, name, Mode::from_raw_mode(0o755))
    } else {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW;
        openat(git, name, flags, Mode::from_raw_mode(0o644)).map(drop)
    };
    match made {
        Ok(()) | Err(Errno::EXIST) => statat(git, name, AtFlags::SYMLINK_NOFOLLOW),
        Err(error) => Err(error),
    }
}
