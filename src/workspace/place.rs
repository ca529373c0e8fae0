//! One name in an open folder: reading the file, and replacing it.

use std::io::{self, Read, Seek as _};

use cap_std::fs::{
    Dir, File, FileType, FileTypeExt, Metadata, MetadataExt as _, OpenOptions, OpenOptionsExt,
    Permissions, PermissionsExt,
};
use rustix::fs::{Gid, OFlags, Uid, fchown};
use uuid::Uuid;

use super::attributes::Attributes;
use super::error::FileError;
use super::path::WorkspacePath;

/// The bits of a mode that new content keeps: not those with which a program runs as another user.
const KEPT_MODE: u32 = 0o777;

/// The target of a path: an open folder and a name in it.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) parent: Dir,
    pub(super) name: String,
    /// The requested path.
    pub(super) path: WorkspacePath,
    /// The real path.
    pub(super) real: WorkspacePath,
}

/// The kind of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    File,
    Folder,
    /// Anything else, in words.
    Special(&'static str),
}

impl Place {
    pub(super) fn meta(&self) -> Result<Option<Metadata>, FileError> {
        match self.parent.symlink_metadata(&self.name) {
            Ok(meta) => Ok(Some(meta)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(FileError::from_io(&self.path, error)),
        }
    }

    pub(super) fn required_meta(&self) -> Result<Metadata, FileError> {
        self.meta()?.ok_or_else(|| FileError::NotFound {
            path: self.path.to_string(),
            hint: String::new(),
        })
    }

    pub(super) fn check_regular(&self, meta: &Metadata) -> Result<(), FileError> {
        match kind_of(&meta.file_type()) {
            Kind::File => Ok(()),
            Kind::Folder => Err(FileError::IsFolder(self.path.to_string())),
            Kind::Special(kind) => Err(FileError::Special {
                path: self.path.to_string(),
                kind,
            }),
        }
    }

    /// Opens a regular file; anything else is refused without waiting for another process.
    pub(super) fn open_file(
        &self,
        options: &mut OpenOptions,
    ) -> Result<(File, Metadata), FileError> {
        let failed = |error| FileError::from_io(&self.path, error);
        if let Some(meta) = self.meta()? {
            self.check_regular(&meta)?;
        }
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = self
            .parent
            .open_with(&self.name, options.custom_flags(flags.bits() as i32))
            .map_err(failed)?;
        let meta = file.metadata().map_err(failed)?;
        self.check_regular(&meta)?;
        Ok((file, meta))
    }

    /// Refuses a place that no file tool writes.
    pub(super) fn check_writable(&self) -> Result<(), FileError> {
        if self.real.is_in_repository() || self.path.is_in_repository() {
            return Err(FileError::Protected(self.path.to_string()));
        }
        if self.real.is_settings() || self.path.is_settings() {
            return Err(FileError::Settings(self.path.to_string()));
        }
        Ok(())
    }

    /// Replaces the file of this name by one with what `content` gives, or makes it. `permissions` are those of the replaced file, whose
    /// owner and attributes are kept too. A file whose owner or attributes cannot be kept is written in place.
    pub(super) fn put(
        &self,
        content: &mut dyn Read,
        permissions: Option<Permissions>,
    ) -> Result<(), FileError> {
        self.check_writable()?;
        let failed = |error| FileError::from_io(&self.path, error);
        let replaced = match &permissions {
            Some(_) => self.meta()?.filter(Metadata::is_file),
            None => None,
        };
        let name = format!(".chorus-{}.tmp", Uuid::new_v4().simple());
        let new = self
            .attributes(replaced.as_ref())
            .and_then(|kept| self.new_file(&name, permissions.as_ref(), replaced.as_ref(), &kept));
        let file = match new {
            Ok(file) => file,
            Err(error) => {
                let _ = self.parent.remove_file(&name);
                let is_refused = error.kind() == io::ErrorKind::PermissionDenied;
                return match replaced {
                    Some(_) if is_refused => self.write_in_place(content),
                    _ => Err(failed(error)),
                };
            }
        };
        let written = fill(file, content, permissions)
            .and_then(|()| self.parent.rename(&name, &self.parent, &self.name));
        written.map_err(|error| {
            // The remains of a failed write; a missing file is no error.
            let _ = self.parent.remove_file(&name);
            failed(error)
        })
    }

    /// Reads the attributes of the file that is replaced.
    fn attributes(&self, replaced: Option<&Metadata>) -> io::Result<Attributes> {
        if replaced.is_none() {
            return Ok(Attributes::default());
        }
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(flags.bits() as i32);
        Attributes::of(self.parent.open_with(&self.name, &options)?)
    }

    /// Makes the file `name`, with the owner, group and attributes of the one that it will replace.
    fn new_file(
        &self,
        name: &str,
        permissions: Option<&Permissions>,
        replaced: Option<&Metadata>,
        kept: &Attributes,
    ) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        if permissions.is_some() {
            // Until it has the old file's mode, only its owner can read it.
            options.mode(0o600);
        }
        let file = self.parent.open_with(name, &options)?;
        if let Some(replaced) = replaced {
            let own = file.metadata()?;
            let user = (own.uid() != replaced.uid()).then(|| Uid::from_raw(replaced.uid()));
            let group = (own.gid() != replaced.gid()).then(|| Gid::from_raw(replaced.gid()));
            if user.is_some() || group.is_some() {
                fchown(&file, user, group)?;
            }
            // Whether they can be given is known before a byte is written.
            kept.give_to(&file)?;
        }
        Ok(file)
    }

    /// Writes into the existing file. All of `content` is read before the first byte is written.
    fn write_in_place(&self, content: &mut dyn Read) -> Result<(), FileError> {
        let failed = |error| FileError::from_io(&self.path, error);
        let mut whole = tempfile::tempfile().map_err(failed)?;
        io::copy(content, &mut whole).map_err(failed)?;
        let (mut file, meta) = self.open_file(OpenOptions::new().write(true))?;
        if meta.nlink() > 1 {
            return Err(FileError::NotOurs(self.path.to_string()));
        }
        let mut write = || -> io::Result<()> {
            whole.rewind()?;
            let written = io::copy(&mut whole, &mut file)?;
            file.set_len(written)?;
            file.sync_all()
        };
        write().map_err(failed)
    }
}

/// Writes a new file, which then gets the mode of the one that it replaces.
fn fill(
    mut file: File,
    content: &mut dyn Read,
    permissions: Option<Permissions>,
) -> io::Result<()> {
    io::copy(content, &mut file)?;
    match permissions.map(|permissions| permissions.mode() & KEPT_MODE) {
        Some(mode) => file.set_permissions(Permissions::from_mode(mode)),
        None => Ok(()),
    }
}

pub(super) fn kind_of(file_type: &FileType) -> Kind {
    if file_type.is_file() {
        Kind::File
    } else if file_type.is_dir() {
        Kind::Folder
    } else if file_type.is_symlink() {
        Kind::Special("a symbolic link")
    } else if file_type.is_fifo() {
        Kind::Special("a named pipe")
    } else if file_type.is_socket() {
        Kind::Special("a socket")
    } else {
        Kind::Special("a device")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};

    use cap_std::ambient_authority;

    use super::*;

    fn place(folder: &std::path::Path, name: &str) -> Place {
        Place {
            parent: Dir::open_ambient_dir(folder, ambient_authority()).unwrap(),
            name: name.to_owned(),
            path: WorkspacePath::parse(name).unwrap(),
            real: WorkspacePath::parse(name).unwrap(),
        }
    }

    #[test]
    fn a_replaced_file_keeps_owner_group_and_mode() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.txt");
        fs::write(&file, "one").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        // Only root can give a file away.
        let _ = chown(&file, Some(4321), Some(4322));
        let before = fs::metadata(&file).unwrap();
        let mode = Permissions::from_mode(0o640);
        let written = place(folder.path(), "a.txt").put(&mut &b"two"[..], Some(mode));
        written.unwrap();
        let after = fs::metadata(&file).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "two");
        let what = |meta: &fs::Metadata| (meta.uid(), meta.gid(), meta.mode());
        assert_eq!(what(&after), what(&before));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_replaced_file_keeps_its_attributes_and_its_access_control_list() {
        use rustix::fs::{XattrFlags, getxattr, setxattr};
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.txt");
        fs::write(&file, "one").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        // Version 2: the owner, user 4321, the group, the mask, others.
        let entry = |tag: u16, rights: u16, id: u32| {
            let (tag, rights) = (tag.to_le_bytes(), rights.to_le_bytes());
            [&tag[..], &rights[..], &id.to_le_bytes()[..]].concat()
        };
        let list = [
            2u32.to_le_bytes().to_vec(),
            entry(0x01, 6, u32::MAX),
            entry(0x02, 4, 4321),
            entry(0x04, 4, u32::MAX),
            entry(0x10, 4, u32::MAX),
            entry(0x20, 0, u32::MAX),
        ]
        .concat();
        let given = [
            ("user.comment", b"kept".to_vec()),
            ("system.posix_acl_access", list),
        ];
        for (name, value) in &given {
            setxattr(&file, *name, value, XattrFlags::empty()).unwrap();
        }
        let mode = Permissions::from_mode(fs::metadata(&file).unwrap().mode());
        let written = place(folder.path(), "a.txt").put(&mut &b"two"[..], Some(mode));
        written.unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "two");
        for (name, value) in &given {
            let mut now = vec![0; 1_000];
            let length = getxattr(&file, *name, &mut *now).unwrap();
            assert_eq!(&now[..length], value, "{name}");
        }
    }

    #[test]
    fn a_file_that_is_written_in_place_stays_the_same_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.txt");
        fs::write(&file, "a longer text").unwrap();
        let before = fs::metadata(&file).unwrap().ino();
        let place = place(folder.path(), "a.txt");
        place.write_in_place(&mut &b"two"[..]).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "two");
        assert_eq!(fs::metadata(&file).unwrap().ino(), before);
        // Another name may be outside.
        fs::hard_link(&file, folder.path().join("b.txt")).unwrap();
        let refused = place.write_in_place(&mut &b"three"[..]);
        assert!(matches!(refused, Err(FileError::NotOurs(_))));
        assert_eq!(fs::read_to_string(&file).unwrap(), "two");
    }
}
