//! The place of a folder: by the inode of each folder above it, and by the folders that mounts show there.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::Relation;
use crate::config::mounts::{Mounts, Spot};

/// A folder by device and inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Node {
    device: u64,
    inode: u64,
}

impl Node {
    fn of(path: &Path) -> io::Result<Self> {
        let meta = fs::metadata(path)?;
        Ok(Self {
            device: meta.dev(),
            inode: meta.ino(),
        })
    }
}

/// The place of a folder on this machine. Names do not count: a link or a bind mount to the same folder has the same
/// place.
#[derive(Clone, Debug)]
pub struct Place {
    path: PathBuf,
    /// Itself, then each folder above it.
    nodes: Vec<Node>,
    /// The mount there or around it; `None` if the kernel reports no mounts.
    spot: Option<Spot>,
    /// The folders that mounts show below it.
    below: Vec<Spot>,
}

impl Place {
    /// Examines the folder to which `path` leads.
    ///
    /// # Errors
    ///
    /// Fails if it or a folder above it does not exist or cannot be examined.
    pub fn of(path: &Path) -> io::Result<Self> {
        let path = fs::canonicalize(path)?;
        let nodes = path.ancestors().map(Node::of).collect::<io::Result<_>>()?;
        let mounts = Mounts::now();
        Ok(Self {
            nodes,
            spot: mounts.spot(&path),
            below: mounts.below(&path),
            path,
        })
    }

    /// Returns the path without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether it is the folder with this device and inode.
    pub fn is(&self, device: u64, inode: u64) -> bool {
        self.nodes.first() == Some(&Node { device, inode })
    }

    pub fn is_root(&self) -> bool {
        self.path.parent().is_none()
    }

    /// Returns this folder's position relative to `other`, if they have anything in common, or something mounted below
    /// it does.
    pub fn relation(&self, other: &Self) -> Option<Relation> {
        let shows = |spot: &Spot| {
            let other = other.spot.as_ref();
            other.is_some_and(|other| relation_of(spot, other).is_some())
        };
        let contains = || self.below.iter().any(shows).then_some(Relation::Contains);
        self.own_relation(other).or_else(contains)
    }

    /// Returns the same, ignoring mounts below it.
    pub(super) fn own_relation(&self, other: &Self) -> Option<Relation> {
        let (own, others) = (self.nodes.first()?, other.nodes.first()?);
        if own == others {
            return Some(Relation::Equal);
        }
        if self.nodes.contains(others) {
            return Some(Relation::Within);
        }
        if other.nodes.contains(own) {
            return Some(Relation::Contains);
        }
        relation_of(self.spot.as_ref()?, other.spot.as_ref()?)
    }
}

fn relation_of(one: &Spot, two: &Spot) -> Option<Relation> {
    if one.device != two.device {
        return None;
    }
    if one.folder == two.folder {
        Some(Relation::Equal)
    } else if one.folder.starts_with(&two.folder) {
        Some(Relation::Within)
    } else if two.folder.starts_with(&one.folder) {
        Some(Relation::Contains)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn place(path: &str, shown: (&str, &str), below: &[(&str, &str)]) -> Place {
        let spot = |(device, folder): (&str, &str)| Spot {
            device: device.to_owned(),
            folder: PathBuf::from(folder),
        };
        Place {
            path: PathBuf::from(path),
            // Nodes that no other place has, so that only mounts are compared.
            nodes: vec![Node {
                device: 0,
                inode: path.len() as u64,
            }],
            spot: Some(spot(shown)),
            below: below.iter().copied().map(spot).collect(),
        }
    }

    #[test]
    fn a_folder_above_a_bind_mount_contains_what_that_shows() {
        let etc = place("/etc", ("8:1", "/etc"), &[]);
        let whole = place("/srv/w", ("8:1", "/"), &[]);
        assert_eq!(whole.relation(&etc), Some(Relation::Contains));
        let above = place("/srv/above", ("8:1", "/srv/above"), &[("8:1", "/etc/ssh")]);
        assert_eq!(above.relation(&etc), Some(Relation::Contains));
        let part = place("/srv/one-part", ("8:1", "/etc/ssh"), &[]);
        assert_eq!(part.relation(&etc), Some(Relation::Within));
        let disk = place("/srv/other-disk", ("8:17", "/etc"), &[("0:5", "/")]);
        assert_eq!(disk.relation(&etc), None);
    }

    #[test]
    fn folders_are_compared_by_inode() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("a/b");
        fs::create_dir_all(&inner).unwrap();
        fs::create_dir(folder.path().join("c")).unwrap();
        std::os::unix::fs::symlink(&inner, folder.path().join("link")).unwrap();
        let place = |name: &str| Place::of(&folder.path().join(name)).unwrap();
        assert_eq!(place("a").relation(&place("a/b")), Some(Relation::Contains));
        assert_eq!(place("a/b").relation(&place("a")), Some(Relation::Within));
        assert_eq!(place("link").relation(&place("a/b")), Some(Relation::Equal));
        assert_eq!(place("a/b").relation(&place("c")), None);
        assert!(Place::of(&folder.path().join("missing")).is_err());
    }
}
