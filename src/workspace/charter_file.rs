//! The files that describe roles, as bytes: read without following links, and never more than one may have; and the
//! agent's own, written.

use std::io::{self, Read, Write};

use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use rustix::fs::OFlags;
use rustix::io::Errno;
use uuid::Uuid;

use super::version::Version;
use crate::charter::{MAX_BYTES, Unreadable};

/// The file in an agent's folder that describes its own role.
pub const NAME: &str = "charter.md";

/// The state of the agent's own charter; none where it has none.
///
/// # Errors
///
/// When that cannot be told.
pub fn version(folder: &Dir) -> io::Result<Option<Version>> {
    match Version::of(folder, NAME) {
        Ok(version) => Ok(Some(version)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The first bytes of the file at `path` in `folder`: one more than a charter may have, so that a longer one is refused.
///
/// # Errors
///
/// When it is no regular file, a link among others, or cannot be read.
pub fn read(folder: &Dir, path: &str) -> Result<Vec<u8>, Unreadable> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .custom_flags((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits() as i32);
    let file = match folder.open_with(path, &options) {
        Ok(file) => file,
        Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            return Err(Unreadable::NotAFile);
        }
        Err(error) => return Err(error.into()),
    };
    if !file.metadata()?.is_file() {
        return Err(Unreadable::NotAFile);
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Puts `bytes` in the place of the agent's own charter so that a crash leaves the old file or the new one, whole.
///
/// # Errors
///
/// When the disk fails; the old file then stays.
pub fn write(folder: &Dir, bytes: &[u8]) -> io::Result<()> {
    let name = format!(".charter-{}.tmp", Uuid::new_v4().simple());
    let written = write_durably(folder, &name, bytes).and_then(|()| {
        folder.rename(&name, folder, NAME)?;
        folder.open(".")?.sync_all()
    });
    if written.is_err() {
        // The rest of a failed write; that it may not be there is no second fault.
        let _ = folder.remove_file(&name);
    }
    written
}

fn write_durably(folder: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut file = folder.open_with(name, OpenOptions::new().write(true).create_new(true))?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Takes the agent's own charter away; that there is none is fine.
///
/// # Errors
///
/// When the disk fails.
pub fn remove(folder: &Dir) -> io::Result<()> {
    match folder.remove_file(NAME) {
        Ok(()) => folder.open(".")?.sync_all(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
