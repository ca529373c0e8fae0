//! One name in an open folder: reading the file, and replacing it.

use std::io::{self, Read};

use cap_std::fs::{
    Dir, File, FileType, FileTypeExt, Metadata, OpenOptions, OpenOptionsExt, Permissions,
    PermissionsExt,
};
use rustix::fs::OFlags;
use uuid::Uuid;

use super::error::FileError;
use super::path::WorkspacePath;

/// The bits of a mode that new content keeps: not those with which a program runs as another user.
const KEPT_MODE: u32 = 0o777;

/// Where a path really leads: an open folder and a name in it.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) parent: Dir,
    pub(super) name: String,
    /// The path that was asked for.
    pub(super) path: WorkspacePath,
    /// The path that it really is.
    pub(super) real: WorkspacePath,
}

/// The kind of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    File,
    Folder,
    /// Something else, in words.
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

    /// Refuses what no file tool writes.
    pub(super) fn check_writable(&self) -> Result<(), FileError> {
        if self.real.is_settings() || self.path.is_settings() {
            return Err(FileError::Settings(self.path.to_string()));
        }
        Ok(())
    }

    /// Puts a new file with what `content` gives under the name.
    pub(super) fn put(
        &self,
        content: &mut dyn Read,
        permissions: Option<Permissions>,
    ) -> Result<(), FileError> {
        self.check_writable()?;
        let name = format!(".chorus-{}.tmp", Uuid::new_v4().simple());
        let written = self
            .write_new(&name, content, permissions)
            .and_then(|()| self.parent.rename(&name, &self.parent, &self.name));
        written.map_err(|error| {
            // What a failed write left; it is no error if there is nothing.
            let _ = self.parent.remove_file(&name);
            FileError::from_io(&self.path, error)
        })
    }

    fn write_new(
        &self,
        name: &str,
        content: &mut dyn Read,
        permissions: Option<Permissions>,
    ) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        let mode = permissions.map(|permissions| permissions.mode() & KEPT_MODE);
        if mode.is_some() {
            // Until it has the old file's mode, nobody else can read it.
            options.mode(0o600);
        }
        let mut file = self.parent.open_with(name, &options)?;
        io::copy(content, &mut file)?;
        match mode {
            Some(mode) => file.set_permissions(Permissions::from_mode(mode)),
            None => Ok(()),
        }
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
