//! The files that describe roles, as bytes: read without following links, up to the largest size; and the agent's own,
//! written.

use std::io;

use cap_std::fs::Dir;

use super::regular_file;
use super::version::Version;
use crate::charter::{MAX_BYTES, Unreadable};

/// The file in an agent's folder that describes its own role.
pub const NAME: &str = "charter.md";

/// The state of the agent's own charter; `None` where it has none.
///
/// # Errors
///
/// When that cannot be found out.
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
/// When it is not a regular file (for example a link), or cannot be read.
pub fn read(folder: &Dir, path: &str) -> Result<Vec<u8>, Unreadable> {
    let bytes = regular_file::head(folder, path, MAX_BYTES as u64 + 1)?;
    bytes.ok_or(Unreadable::NotAFile)
}

/// Replaces the agent's own charter with `bytes`, so that a crash leaves the old file or the new one, whole.
///
/// # Errors
///
/// When the disk fails; the old file then stays.
pub fn write(folder: &Dir, bytes: &[u8]) -> io::Result<()> {
    regular_file::replace(folder, NAME, bytes)
}

/// Removes the agent's own charter; it is no error if there is none.
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
