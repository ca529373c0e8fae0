//! The files that describe roles, as bytes: read without following links, and never more than one may have; and the
//! agent's own, written.

use std::io;

use cap_std::fs::Dir;

use super::regular_file;
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
    let bytes = regular_file::head(folder, path, MAX_BYTES as u64 + 1)?;
    bytes.ok_or(Unreadable::NotAFile)
}

/// Puts `bytes` in the place of the agent's own charter so that a crash leaves the old file or the new one, whole.
///
/// # Errors
///
/// When the disk fails; the old file then stays.
pub fn write(folder: &Dir, bytes: &[u8]) -> io::Result<()> {
    regular_file::replace(folder, NAME, bytes)
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
