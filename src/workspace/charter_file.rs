//! The files that describe roles, as bytes: read without following links, up to the largest size. The file of the agent
//! itself can also be written.

use std::io;

use cap_std::fs::Dir;

use super::regular_file;
use super::version::Version;
use crate::charter::{MAX_BYTES, Unreadable};

/// The file in an agent's folder that describes its own role.
pub const NAME: &str = "charter.md";

/// Returns the version of the agent's own charter; `None` if it has none.
///
/// # Errors
///
/// Fails if that cannot be determined.
pub fn version(folder: &Dir) -> io::Result<Option<Version>> {
    match Version::of(folder, NAME) {
        Ok(version) => Ok(Some(version)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the first bytes of the file at `path` in `folder`: one more than a charter may have, so that a longer one is
/// refused.
///
/// # Errors
///
/// Fails if it is not a regular file (for example a link), or cannot be read.
pub fn read(folder: &Dir, path: &str) -> Result<Vec<u8>, Unreadable> {
    let bytes = regular_file::head(folder, path, MAX_BYTES as u64 + 1)?;
    bytes.ok_or(Unreadable::NotAFile)
}

/// Replaces the agent's own charter with `bytes`, so that a crash leaves the complete old or new file.
///
/// # Errors
///
/// Fails if the disk fails; then the old file stays.
pub fn write(folder: &Dir, bytes: &[u8]) -> io::Result<()> {
    regular_file::replace(folder, NAME, bytes)
}

/// Removes the agent's own charter; a missing one is no error.
///
/// # Errors
///
/// Fails if the disk fails.
pub fn remove(folder: &Dir) -> io::Result<()> {
    match folder.remove_file(NAME) {
        Ok(()) => folder.open(".")?.sync_all(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
