//! The identity of a folder over restarts: its file system, its inode there, and its creation time.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{AtFlags, StatxFlags, statx};
use serde::{Deserialize, Serialize};

/// Distinguishes a folder from every other one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Identity {
    file_system: FileSystem,
    inode: u64,
    /// Seconds and nanoseconds; `None` if the file system keeps no such time.
    born: Option<(i64, u32)>,
}

/// Identifies the file system. The number of a device may change after a restart, so it is only the last resort.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FileSystem {
    /// The UUID, if udev knows it.
    uuid: Option<String>,
    /// The kernel's own number, which many file systems derive from the UUID; 0 if there is none.
    id: u64,
    /// The number of the device, as `major:minor`.
    device: String,
}

impl Identity {
    /// Returns the identity of an open folder.
    ///
    /// # Errors
    ///
    /// Fails if the kernel does not provide it.
    pub(super) fn of(folder: impl AsFd) -> io::Result<Self> {
        let wanted = StatxFlags::INO | StatxFlags::BTIME;
        let found = statx(&folder, "", AtFlags::EMPTY_PATH, wanted)?;
        let has_birth = StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::BTIME);
        let (major, minor) = (found.stx_dev_major, found.stx_dev_minor);
        Ok(Self {
            file_system: FileSystem {
                uuid: uuid(major, minor),
                id: rustix::fs::fstatvfs(&folder)?.f_fsid,
                device: format!("{major}:{minor}"),
            },
            inode: found.stx_ino,
            born: has_birth.then_some((found.stx_btime.tv_sec, found.stx_btime.tv_nsec)),
        })
    }

    /// Returns whether `other` is the same folder.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (self.inode, self.born) == (other.inode, other.born)
            && self.file_system.is_same(&other.file_system)
    }
}

impl FileSystem {
    /// Compares by the best value that both have.
    fn is_same(&self, other: &Self) -> bool {
        match (&self.uuid, &other.uuid) {
            (Some(one), Some(two)) => one == two,
            _ if self.id != 0 && other.id != 0 => self.id == other.id,
            _ => self.device == other.device,
        }
    }
}

/// Returns the UUID that udev found on a block device. Even a service that sees no devices can read it.
fn uuid(major: u32, minor: u32) -> Option<String> {
    let entry = Path::new("/run/udev/data").join(format!("b{major}:{minor}"));
    uuid_in(&std::fs::read_to_string(entry).ok()?)
}

fn uuid_in(entry: &str) -> Option<String> {
    let mut lines = entry.lines();
    let uuid = lines.find_map(|line| line.strip_prefix("E:ID_FS_UUID="))?;
    (!uuid.is_empty()).then(|| uuid.to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn identity(uuid: Option<&str>, id: u64, device: &str) -> Identity {
        Identity {
            file_system: FileSystem {
                uuid: uuid.map(str::to_owned),
                id,
                device: device.to_owned(),
            },
            inode: 12,
            born: Some((1, 2)),
        }
    }

    #[test]
    fn a_uuid_outlives_the_number_of_a_device() {
        let bound = identity(Some("a-1"), 7, "8:1");
        assert!(bound.is_same(&identity(Some("a-1"), 9, "8:17")));
        assert!(!bound.is_same(&identity(Some("b-2"), 7, "8:1")));
        assert!(bound.is_same(&identity(None, 7, "8:17")));
        assert!(!bound.is_same(&identity(None, 8, "8:1")));
        assert!(bound.is_same(&identity(None, 0, "8:1")));
        assert!(!bound.is_same(&identity(None, 0, "8:17")));
    }

    #[test]
    fn inode_and_time_of_birth_count() {
        let bound = identity(None, 7, "8:1");
        let other = |inode, born| Identity {
            inode,
            born,
            ..bound.clone()
        };
        assert!(!bound.is_same(&other(13, bound.born)));
        assert!(!bound.is_same(&other(12, Some((1, 3)))));
        assert!(!bound.is_same(&other(12, None)));
    }

    #[test]
    fn the_uuid_is_read_from_udev() {
        let entry = "S:disk/by-id/x\nE:ID_FS_TYPE=ext4\nE:ID_FS_UUID=0e-1\nE:ID_FS_UUID_ENC=0e-1\n";
        assert_eq!(uuid_in(entry), Some("0e-1".to_owned()));
        assert_eq!(uuid_in("E:ID_FS_TYPE=swap\n"), None);
    }
}
