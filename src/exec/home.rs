//! The home folder of an agent's commands: creates it when a command first needs it, and finds the parts that every
//! command may write.
//!
//! Even read-only programs read settings from a home, and settings can start other programs. So a command that only a
//! wildcard allowed may read all of its home but write only [`CACHES`], where no program keeps settings.
//!
//! A command with a writable home may replace any of these folders with a link. So each is opened by descriptor here,
//! and compared by inode again when the command is confined ([`InodePin`]).

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Component, Path};

use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, openat, unlinkat};
use rustix::path::Arg;

use super::command::{Home, HomeAccess};
use super::job::InodePin;

/// Permissions of a home: it may hold tokens.
const PRIVATE: u32 = 0o700;

/// Folders for files that package managers fetched or computed and can get again, relative to the home.
///
/// None of them contains a program that a launcher runs, unlike `.cache/node/corepack`, `.cache/bazelisk` and
/// `.gradle/native`. Builds use the contents of these folders, and they run the workspace's own code anyway. For Go's
/// see [`LOCAL_TOOLCHAIN`].
const CACHES: &[&[&str]] = &[
    &[".cache", "go-build"],
    &[".cache", "pip"],
    &[".cache", "uv"],
    &[".cache", "yarn"],
    &[".cargo", "git"],
    &[".cargo", "registry"],
    &[".m2", "repository"],
    &[".npm", "_cacache"],
    &[".npm", "_logs"],
    &["go", "pkg"],
];

/// Keeps `go` from running a toolchain in its module cache, for commands that may write there.
pub(super) const LOCAL_TOOLCHAIN: (&str, &str) = ("GOTOOLCHAIN", "local");

/// Creates the home, and returns its parts that a command may write although the rest is read-only.
///
/// # Errors
///
/// Fails if its path leads to anything but a folder, or it cannot be created.
pub(super) fn prepare(home: &Home) -> io::Result<Vec<InodePin>> {
    make(&home.folder)?;
    match home.access {
        HomeAccess::Whole => Ok(Vec::new()),
        HomeAccess::Caches => {
            let folder = open(&home.folder)?;
            let found = CACHES
                .iter()
                .filter_map(|names| cache(&folder, &home.folder, names));
            Ok(found.collect())
        }
    }
}

/// Creates the folder `below` of a home if it is missing. A link on the way is an error: a command may have put it
/// there.
///
/// # Errors
///
/// Fails if a part of it is not a folder or cannot be created.
pub(super) fn make_below(home: &Path, below: &Path) -> io::Result<()> {
    let mut folder = open(home)?;
    for name in below.components().filter(|name| *name != Component::CurDir) {
        let name = name.as_os_str();
        // It fails if the folder already exists.
        let _ = mkdirat(&folder, name, Mode::from_raw_mode(PRIVATE));
        folder = open_below(&folder, name)?;
    }
    Ok(())
}

/// Writes the file `path` of a home anew, and makes the home and the folders on the way. What had the name is removed first: a
/// link that a program left there is not followed.
///
/// # Errors
///
/// When a part of the path is no folder, or it cannot be written.
pub fn write_in_home(home: &Path, path: &Path, content: &str) -> io::Result<()> {
    make(home)?;
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    make_below(home, above)?;
    let mut folder = open(home)?;
    for part in above.components() {
        folder = open_below(&folder, part.as_os_str())?;
    }
    let _ = unlinkat(&folder, name, AtFlags::empty());
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW;
    let file = openat(&folder, name, flags, Mode::from_raw_mode(0o600))?;
    io::Write::write_all(&mut fs::File::from(file), content.as_bytes())
}

fn make(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(PRIVATE).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    // Confined commands cannot reach the folder around it, so it cannot be replaced between these steps.
    let meta = fs::symlink_metadata(folder)?;
    if !meta.is_dir() {
        return Err(io::Error::other(format!(
            "{} is to be the home of commands and is not a folder; move it away",
            folder.display()
        )));
    }
    if meta.permissions().mode() & 0o777 != PRIVATE {
        fs::set_permissions(folder, Permissions::from_mode(PRIVATE))?;
    }
    Ok(())
}

/// Returns the folder that `names` lead to, created if it is missing. `None` if it cannot be created, or if a command
/// replaced or closed it: then it is as read-only as the rest of the home.
fn cache(home: &OwnedFd, path: &Path, names: &[&str]) -> Option<InodePin> {
    let mut folder = None;
    let mut path = path.to_owned();
    for name in names {
        let above = folder.as_ref().unwrap_or(home);
        // It fails if the folder already exists.
        let _ = mkdirat(above, *name, Mode::from_raw_mode(0o755));
        folder = Some(open_below(above, *name).ok()?);
        path.push(name);
    }
    let stat = rustix::fs::fstat(folder.as_ref()?).ok()?;
    Some(InodePin {
        path,
        device: stat.st_dev,
        inode: stat.st_ino,
    })
}

fn open(folder: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW;
    Ok(rustix::fs::open(folder, flags, Mode::empty())?)
}

fn open_below(at: &OwnedFd, name: impl Arg) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW;
    openat(at, name, flags, Mode::empty())
}
