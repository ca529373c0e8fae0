//! What a member of a team sees of the repository in whose worktree it works: all of it to read, and a few parts to write.
//!
//! The repository lies in a workspace in which other commands run meanwhile and may replace any name with a link. So each part is
//! opened name by name without links, and compared by inode once more in the finished sandbox ([`InodePin`]).

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, mkdirat, openat};

use super::guard::Guard;
use super::job::InodePin;

/// Folders of a repository that all its members write: new objects, and the branches of members with their logs.
const SHARED: [&[&str]; 3] = [
    &["objects"],
    &["refs", "heads", "team"],
    &["logs", "refs", "heads", "team"],
];

/// Where objects may come from besides, which nobody may redirect.
const ALTERNATES: &[&str] = &["objects", "info"];

/// Files of a worktree's own folder in the repository that say where the repository and the worktree are.
const POINTERS: [&str; 2] = ["commondir", "gitdir"];

/// A folder that a program may write, and the repository that it is a worktree of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worktree {
    pub folder: PathBuf,
    /// The `.git` of the workspace, a folder. `None` where the folder holds a repository of its own.
    pub repository: Option<PathBuf>,
    /// The worktree's name in the repository.
    pub name: String,
}

impl Worktree {
    /// Returns the parts of the repository that may be written, and in `frozen` those of them that may not.
    ///
    /// # Errors
    ///
    /// When a part is missing or is not what it should be.
    pub(super) fn parts(&self) -> io::Result<Guard> {
        let mut parts = Guard::default();
        parts.pin(&self.folder, &fstat(open(&self.folder)?)?);
        let Some(git) = &self.repository else {
            return Ok(parts);
        };
        let folder = open(git)?;
        parts.pin(git, &fstat(&folder)?);
        for names in SHARED {
            let (path, part) = below(&folder, git, names)?;
            parts.pin(&path, &fstat(part)?);
            parts.pinned.push(path);
        }
        let (path, part) = below(&folder, git, ALTERNATES)?;
        parts.pin(&path, &fstat(part)?);
        parts.frozen.push(path);
        let own = ["worktrees", self.name.as_str()];
        let (path, part) = below(&folder, git, &own)?;
        parts.pin(&path, &fstat(&part)?);
        for name in POINTERS {
            let flags = OFlags::PATH | OFlags::NOFOLLOW;
            let stat = fstat(openat(&part, name, flags, Mode::empty())?)?;
            let pointer = path.join(name);
            if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
                let what = format!("{} is not a file", pointer.display());
                return Err(io::Error::other(what));
            }
            parts.pin(&pointer, &stat);
            parts.frozen.push(pointer);
        }
        parts.pinned.push(path);
        Ok(parts)
    }
}

impl Guard {
    fn pin(&mut self, path: &Path, stat: &Stat) {
        self.inode_pins.push(InodePin {
            path: path.to_owned(),
            device: stat.st_dev,
            inode: stat.st_ino,
        });
    }
}

fn open(folder: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW;
    let opened = rustix::fs::open(folder, flags, Mode::empty());
    opened.map_err(|error| io::Error::other(format!("{}: {error}", folder.display())))
}

/// Opens the folder that `names` lead to, made where it is missing. A link on the way is an error.
fn below(at: &OwnedFd, path: &Path, names: &[&str]) -> io::Result<(PathBuf, OwnedFd)> {
    let mut folder = at.try_clone()?;
    let mut path = path.to_owned();
    for name in names {
        path.push(name);
        // It fails where the folder is there already.
        let _ = mkdirat(&folder, *name, Mode::from_raw_mode(0o755));
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let opened = openat(&folder, *name, flags, Mode::empty());
        folder =
            opened.map_err(|error| io::Error::other(format!("{}: {error}", path.display())))?;
    }
    Ok((path, folder))
}
