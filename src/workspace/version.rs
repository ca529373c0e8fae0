//! What identifies one state of a file, so that an unchanged one need not be read again.

use std::io;

use cap_std::fs::{Dir, Metadata, MetadataExt};
use cap_std::time::SystemTime;

/// What identifies one state of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    size: u64,
    modified: Option<SystemTime>,
    inode: u64,
}

impl Version {
    /// The state of the file `name` in `folder`, itself and not what a link leads to.
    ///
    /// # Errors
    ///
    /// When it is not there or cannot be looked at.
    pub fn of(folder: &Dir, name: &str) -> io::Result<Self> {
        Ok(Self::from(&folder.symlink_metadata(name)?))
    }
}

impl From<&Metadata> for Version {
    fn from(meta: &Metadata) -> Self {
        Self {
            size: meta.len(),
            modified: meta.modified().ok(),
            inode: meta.ino(),
        }
    }
}
