//! The mounts of this process, as `/proc/self/mountinfo` lists them.
//!
//! A bind mount shows a folder a second time, and its path does not reveal which folder. The list does: it names the
//! file system and the folder in it.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// A place in a file system, regardless of how often that is mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    /// The device of the file system, as `major:minor`.
    pub(super) device: String,
    /// The folder in it.
    pub(super) folder: PathBuf,
}

impl Spot {
    /// Returns whether it is `other`, or inside it.
    pub(super) fn is_in(&self, other: &Self) -> bool {
        self.device == other.device && self.folder.starts_with(&other.folder)
    }
}

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mount {
    shows: Spot,
    at: PathBuf,
}

/// All mounts, later ones over earlier ones.
#[derive(Clone, Debug, Default)]
pub(super) struct Mounts(Vec<Mount>);

impl Mounts {
    /// Reads the list; it is empty if there is no `/proc`.
    pub(super) fn now() -> Self {
        let list = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
        Self::parse(&list)
    }

    fn parse(list: &[u8]) -> Self {
        Self(
            list.split(|byte| *byte == b'\n')
                .filter_map(mount)
                .collect(),
        )
    }

    /// Returns the place of `path`, which has no links in it.
    pub(super) fn spot(&self, path: &Path) -> Option<Spot> {
        let over = self.0.iter().filter(|mount| path.starts_with(&mount.at));
        // Of several mounts at the same place, the last one is visible: `max_by_key` returns it.
        let mount = over.max_by_key(|mount| mount.at.components().count())?;
        let below = path.strip_prefix(&mount.at).ok()?;
        Some(Spot {
            device: mount.shows.device.clone(),
            folder: mount.shows.folder.join(below),
        })
    }

    /// Returns the places that mounts below `path` show.
    pub(super) fn below(&self, path: &Path) -> Vec<Spot> {
        let below = self
            .0
            .iter()
            .filter(|mount| mount.at.starts_with(path) && mount.at != path);
        below.map(|mount| mount.shows.clone()).collect()
    }
}

/// Reads a line: id, parent, device, folder in the file system, mount point, and more.
fn mount(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ').skip(2);
    let device = String::from_utf8(fields.next()?.to_vec()).ok()?;
    let folder = plain(fields.next()?);
    let at = plain(fields.next()?);
    let shows = Spot { device, folder };
    Some(Mount { shows, at })
}

/// Returns a path of the list without its escapes, which are octal numbers.
fn plain(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, after)) = rest.split_first() {
        let number = after.get(..3).filter(|_| first == b'\\');
        let number = number.and_then(|digits| std::str::from_utf8(digits).ok());
        match number.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const LIST: &str = "\
22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
30 22 8:17 /data /srv/disk rw - ext4 /dev/sdb1 rw
31 22 8:1 / /srv/whole rw - ext4 /dev/sda1 rw
32 22 8:1 /etc/a\\040b /srv/one\\040two rw - ext4 /dev/sda1 rw
33 30 0:40 / /srv/disk rw - tmpfs none rw
";

    fn spot(path: &str) -> (String, PathBuf) {
        let spot = Mounts::parse(LIST.as_bytes())
            .spot(Path::new(path))
            .unwrap();
        (spot.device, spot.folder)
    }

    #[test]
    fn the_last_and_deepest_mount_counts() {
        assert_eq!(spot("/etc/x"), ("8:1".into(), "/etc/x".into()));
        assert_eq!(spot("/srv/whole/etc"), ("8:1".into(), "/etc".into()));
        assert_eq!(spot("/srv/disk/web"), ("0:40".into(), "/web".into()));
        assert_eq!(spot("/srv/one two/c"), ("8:1".into(), "/etc/a b/c".into()));
    }

    #[test]
    fn mounts_below_a_folder_are_found() {
        let below = Mounts::parse(LIST.as_bytes()).below(Path::new("/srv"));
        assert_eq!(below.len(), 4);
        assert!(Mounts::parse(b"").spot(Path::new("/")).is_none());
    }
}
