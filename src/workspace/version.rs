//! The version of a file, so that an unchanged one need not be read again.

use std::io;

use cap_std::fs::Dir;
use rustix::fs::{AtFlags, statat};

/// Identifies one state of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    size: i64,
    /// Seconds and nanoseconds.
    modified: (i64, u64),
    inode: u64,
}

impl Version {
    /// Returns the version of the file `name` in `folder`: of a link itself, not of its target. `name` contains no
    /// folders.
    ///
    /// # Errors
    ///
    /// Fails if it does not exist or cannot be read.
    pub fn of(folder: &Dir, name: &str) -> io::Result<Self> {
        let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(Self {
            size: stat.st_size,
            modified: (stat.st_mtime, stat.st_mtime_nsec),
            inode: stat.st_ino,
        })
    }
}
