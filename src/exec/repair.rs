//! Keeps a workspace's `.git` a valid repository, which mounts cannot do: git replaces `HEAD` with every checkout, and
//! the owner of a folder may make it inaccessible.
//!
//! If git does not accept `.git` as a repository, it checks whether the workspace itself is one, and would use any
//! configuration that a command wrote there. So `HEAD`, `objects` and `refs` are repaired before a command and after
//! its end. All of it is best effort, by descriptor, and follows no link.

use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, mkdirat, openat, readlinkat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

use super::job::InodePin;

/// The file that names the place of a repository's configuration and objects, if they are elsewhere.
pub(super) const COMMON: &str = "commondir";

/// Its content for a repository that contains its own. libgit2 treats a path as relative only if a slash follows the
/// dot.
pub(super) const ITSELF: &str = "./\n";

/// The `HEAD` of a new repository.
const FIRST_HEAD: &str = "ref: refs/heads/main\n";

/// Most bytes of `HEAD` or [`COMMON`] that are read: more than git reads.
const LONGEST: u64 = 4096;

/// Repairs the repository of `workspace`, if it has one.
pub(super) fn repository(workspace: &Path, pin: Option<&InodePin>) {
    if let Ok(folder) = open_workspace(workspace, pin)
        && let Some(git) = opened(&folder, ".git")
    {
        for part in ["objects", "refs"] {
            keep_folder(&git, part);
        }
        keep_head(&git);
        keep_common(&git);
    }
}

/// Opens a workspace, which must be the intended folder.
pub(super) fn open_workspace(workspace: &Path, pin: Option<&InodePin>) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY;
    let folder = rustix::fs::open(workspace, flags, Mode::empty())?;
    if let Some(pin) = pin {
        let found = rustix::fs::fstat(&folder)?;
        if (found.st_dev, found.st_ino) != (pin.device, pin.inode) {
            return Err(io::Error::other("the workspace was replaced"));
        }
    }
    Ok(folder)
}

/// Writes the new file `name`.
pub(super) fn write_new(folder: &OwnedFd, name: &str, content: &str) -> rustix::io::Result<()> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW;
    let file = openat(folder, name, flags, Mode::from_raw_mode(0o644))?;
    rustix::io::write(&file, content.as_bytes()).map(drop)
}

/// Returns the folder `name`, which its owner can enter from now on; `None` if it is not a folder.
fn opened(at: &OwnedFd, name: &str) -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW;
    let folder = openat(at, name, flags, Mode::empty()).ok()?;
    allow(&folder, 0o700)?;
    Some(folder)
}

/// Gives the owner of `file` the permissions `wanted`.
fn allow(file: &OwnedFd, wanted: u32) -> Option<()> {
    let mode = rustix::fs::fstat(file).ok()?.st_mode;
    if mode & wanted == wanted {
        return Some(());
    }
    let itself = format!("/proc/self/fd/{}", file.as_raw_fd());
    rustix::fs::chmod(itself, Mode::from_raw_mode((mode | wanted) & 0o777)).ok()
}

fn keep_folder(git: &OwnedFd, name: &str) {
    if opened(git, name).is_some() || is_folder_elsewhere(git, name) {
        return;
    }
    let _ = unlinkat(git, name, AtFlags::empty());
    let _ = mkdirat(git, name, Mode::from_raw_mode(0o755));
}

/// Returns whether `name` is a link to a folder: a user set it up so, and git accepts it as a repository.
fn is_folder_elsewhere(git: &OwnedFd, name: &str) -> bool {
    statat(git, name, AtFlags::empty())
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
}

fn keep_head(git: &OwnedFd) {
    let is_old_link = readlinkat(git, "HEAD", Vec::new())
        .is_ok_and(|target| target.to_bytes().starts_with(b"refs/"));
    if !is_old_link && !content(git, "HEAD").is_some_and(|text| is_head(&text)) {
        replace(git, "HEAD", FIRST_HEAD);
    }
}

/// Returns whether git accepts `text` as a `HEAD`: a branch by name or a commit by number.
fn is_head(text: &[u8]) -> bool {
    match text.strip_prefix(b"ref:") {
        Some(name) => name.trim_ascii_start().starts_with(b"refs/"),
        None => text
            .get(..40)
            .is_some_and(|number| number.iter().all(u8::is_ascii_hexdigit)),
    }
}

fn keep_common(git: &OwnedFd) {
    let is_there = statat(git, COMMON, AtFlags::SYMLINK_NOFOLLOW).is_ok();
    if is_there && content(git, COMMON).is_none_or(|text| text != ITSELF.as_bytes()) {
        replace(git, COMMON, ITSELF);
    }
}

/// Returns the content of the regular file `name`; `None` if it cannot be read or is something else.
fn content(git: &OwnedFd, name: &str) -> Option<Vec<u8>> {
    let seen = openat(git, name, OFlags::PATH | OFlags::NOFOLLOW, Mode::empty()).ok()?;
    let kind = FileType::from_raw_mode(rustix::fs::fstat(&seen).ok()?.st_mode);
    if kind != FileType::RegularFile {
        return None;
    }
    allow(&seen, 0o600)?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = openat(git, name, flags, Mode::empty()).ok()?;
    let mut text = Vec::new();
    std::fs::File::from(file)
        .take(LONGEST)
        .read_to_end(&mut text)
        .ok()?;
    Some(text)
}

/// Replaces anything with this name by a file with `content`.
fn replace(git: &OwnedFd, name: &str, content: &str) {
    let draft = format!("{name}.{}", uuid::Uuid::new_v4().simple());
    if write_new(git, &draft, content).is_err() {
        return;
    }
    if renameat(git, &draft, git, name) == Err(Errno::ISDIR) {
        // A folder cannot be replaced with a file: it is renamed, with its contents.
        let _ = renameat(git, name, git, format!("{draft}.aside"));
        let _ = renameat(git, &draft, git, name);
    }
}
