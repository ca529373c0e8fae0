//! Removes a tree of folders, and nothing that is mounted in it.
//!
//! Somebody may have mounted a folder of the machine in the folder of an agent. What is in there is not the agent's, so the removal
//! ends there with an error.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, ResolveFlags, fchmod, openat2, unlinkat};
use rustix::io::Errno;

/// Depth of folders that are removed: far more than people make, and little enough for the open folders of a process.
const DEEPEST: usize = 400;

/// Removes `folder` with all that is in it. Links are removed, not followed.
///
/// # Errors
///
/// When a file system is mounted in it, or something cannot be removed; the rest of it may be gone then.
pub(crate) fn remove_tree(folder: &Path) -> io::Result<()> {
    let above = folder.parent().unwrap_or(Path::new("/"));
    let name = folder.file_name().unwrap_or_default();
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let above = rustix::fs::openat(CWD, above, flags, Mode::empty())?;
    Ok(remove(&above, name, 0)?)
}

/// Removes `name`, whatever it is.
fn remove(
    above: &OwnedFd,
    name: impl rustix::path::Arg + Copy,
    depth: usize,
) -> rustix::io::Result<()> {
    match unlinkat(above, name, AtFlags::empty()) {
        Err(Errno::ISDIR | Errno::PERM) => {}
        // The folder above may be closed to its owner, as Go does with its cache of modules.
        removed => return removed,
    }
    if depth > DEEPEST {
        return Err(Errno::NAMETOOLONG);
    }
    let folder = open(above, name)?;
    let mut first = None;
    for entry in Dir::read_from(&folder)? {
        let entry = entry?;
        if matches!(entry.file_name().to_bytes(), b"." | b"..") {
            continue;
        }
        if let Err(error) = remove(&folder, entry.file_name(), depth + 1) {
            first.get_or_insert(error);
        }
    }
    if let Some(error) = first {
        return Err(error);
    }
    unlinkat(above, name, AtFlags::REMOVEDIR)
}

/// Opens a folder that lies on the same mount, and lets its owner change it.
fn open(above: &OwnedFd, name: impl rustix::path::Arg + Copy) -> rustix::io::Result<OwnedFd> {
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = match openat2(above, name, flags, Mode::empty(), within) {
        Err(Errno::ACCESS) => {
            let path = openat2(
                above,
                name,
                OFlags::PATH | OFlags::CLOEXEC,
                Mode::empty(),
                within,
            )?;
            rustix::fs::chmod(itself(&path), Mode::RWXU)?;
            openat2(above, name, flags, Mode::empty(), within)?
        }
        opened => opened?,
    };
    let is_open = rustix::fs::fstat(&opened)?.st_mode & 0o700 == 0o700;
    if !is_open {
        // It fails where it belongs to somebody else, and then so does the removal.
        let _ = fchmod(&opened, Mode::RWXU);
    }
    Ok(opened)
}

/// The path of an open file in this process.
fn itself(file: &OwnedFd) -> String {
    use std::os::fd::AsRawFd as _;
    format!("/proc/self/fd/{}", file.as_fd().as_raw_fd())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_tree_is_removed_with_closed_folders_and_links() {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("tree");
        let kept = folder.path().join("kept");
        fs::create_dir_all(tree.join("a/closed")).unwrap();
        fs::create_dir(&kept).unwrap();
        fs::write(kept.join("file"), "x").unwrap();
        fs::write(tree.join("a/closed/file"), "x").unwrap();
        symlink(&kept, tree.join("a/link")).unwrap();
        for (path, mode) in [("a/closed", 0o500), ("a", 0o500)] {
            fs::set_permissions(tree.join(path), fs::Permissions::from_mode(mode)).unwrap();
        }
        remove_tree(&tree).unwrap();
        assert!(!tree.exists());
        assert!(kept.join("file").exists());
        assert!(remove_tree(&tree).is_err());
    }
}
