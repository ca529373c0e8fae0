//! Files beneath one folder, and no others.
//!
//! Each call resolves its path again below an open descriptor (`openat2` with `RESOLVE_BENEATH` where available). Only
//! [`Jail::reach`] follows links, if they stay inside: it returns the path to judge, to show and to pass to the other
//! calls. These refuse a path that a link leads elsewhere, so they act on exactly the path they were given. Writes go
//! to a new file that replaces the old one, so a link swapped in meanwhile is replaced, not followed.
//!
//! Not solved here: reading a hard link made from outside, because it is the file itself. Writing replaces it by a
//! separate file.

use std::io::{self, Read, Write};
use std::path::Path;

use cap_std::fs::{Dir, MetadataExt, OpenOptions, Permissions};
use rustix::fs::{Mode, OFlags, openat};

use super::error::FileError;
use super::path::WorkspacePath;
use super::place::{Place, kind_of};
use crate::text;

pub use super::place::Kind;

/// Most names of a folder that are read; a larger folder is listed in part.
pub const MOST_NAMES: usize = 10_000;

/// Largest file with several names, in bytes, that is copied before something is added to it.
const LARGEST_COPY: u64 = 16 * 1024 * 1024;

/// Attempts at a name that other calls create and remove in the meantime.
const MOST_LOOKS: usize = 8;

/// An open folder that paths cannot leave.
#[derive(Debug)]
pub struct Jail {
    root: Dir,
}

#[derive(Debug)]
pub struct Contents {
    pub bytes: Vec<u8>,
    permissions: Permissions,
    place: Place,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Its name; `/` after a folder's, `@` after a link's.
    pub shown: String,
}

impl Jail {
    /// Returns the folder `name` of `parent`.
    ///
    /// # Errors
    ///
    /// Fails if it is not a folder of the parent's own.
    pub fn open(parent: &Dir, name: &str) -> Result<Self, FileError> {
        let meta = parent
            .symlink_metadata(name)
            .map_err(|error| FileError::from_io(name, error))?;
        if !meta.is_dir() {
            return Err(FileError::NotFolder(name.to_owned()));
        }
        let root = parent
            .open_dir(name)
            .map_err(|error| FileError::from_io(name, error))?;
        Ok(Self { root })
    }

    /// Creates it from the open folder `root`.
    pub(super) fn of(root: Dir) -> Self {
        Self { root }
    }

    /// Returns the open folder itself, for callers that read all of it.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be opened for reading.
    pub fn into_folder(self) -> Result<std::fs::File, FileError> {
        let opened = below(&self.root, ".").map_err(|error| FileError::from_io(".", error))?;
        Ok(opened.into_std_file())
    }

    pub fn dir(&self) -> &Dir {
        &self.root
    }

    /// Returns the target of `path` after following all links. A missing name is in the folder that its parent leads
    /// to.
    ///
    /// # Errors
    ///
    /// Fails if a link leads out or nowhere, or the path is protected.
    pub fn reach(&self, path: &WorkspacePath) -> Result<WorkspacePath, FileError> {
        let reached = match self.follow(path)? {
            Some(reached) => reached,
            None => self.reach_missing(path)?,
        };
        if reached.is_protected() {
            return Err(FileError::Protected(path.to_string()));
        }
        Ok(reached)
    }

    /// Follows the links in the existing folders of `path`, which itself does not exist: a few attempts find the last
    /// one.
    fn reach_missing(&self, path: &WorkspacePath) -> Result<WorkspacePath, FileError> {
        let names: Vec<&str> = path.as_str().split('/').collect();
        let mut reached = WorkspacePath::root();
        let (mut existing, mut missing) = (0, names.len());
        while missing - existing > 1 {
            let middle = (existing + missing) / 2;
            match self.follow(&WorkspacePath::parse(&names[..middle].join("/"))?)? {
                Some(place) => (existing, reached) = (middle, place),
                None => missing = middle,
            }
        }
        let below = names[existing..].iter();
        Ok(below.fold(reached, |reached, name| reached.join(name)))
    }

    /// Reads a regular file of at most `limit` bytes.
    ///
    /// # Errors
    ///
    /// Fails if it does not exist, is not a regular file, or is larger.
    pub fn read(&self, path: &WorkspacePath, limit: u64) -> Result<Contents, FileError> {
        let place = self.existing(path)?;
        let (file, meta) = place.open_file(OpenOptions::new().read(true))?;
        let too_large = |size| FileError::TooLarge {
            path: path.to_string(),
            size,
            limit,
        };
        if meta.len() > limit {
            return Err(too_large(meta.len()));
        }
        let mut bytes = Vec::with_capacity(meta.len() as usize);
        file.take(limit + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| FileError::from_io(path, error))?;
        if bytes.len() as u64 > limit {
            return Err(too_large(bytes.len() as u64));
        }
        Ok(Contents {
            bytes,
            permissions: meta.permissions(),
            place,
        })
    }

    /// Opens a regular file to read from, with its size in bytes.
    ///
    /// # Errors
    ///
    /// Fails if it does not exist or is not a regular file.
    pub fn open_file(&self, path: &WorkspacePath) -> Result<(std::fs::File, u64), FileError> {
        let place = self.existing(path)?;
        let (file, meta) = place.open_file(OpenOptions::new().read(true))?;
        Ok((file.into_std(), meta.len()))
    }

    /// Replaces the content of a file that was read with `bytes`, and keeps its mode.
    pub fn replace(&self, contents: &Contents, mut bytes: &[u8]) -> Result<(), FileError> {
        contents
            .place
            .put(&mut bytes, Some(contents.permissions.clone()))
    }

    /// Writes a new file, or replaces one and keeps its mode. Creates missing folders of its path.
    ///
    /// # Errors
    ///
    /// Fails if there is a folder or a special file, or the place is protected or not writable.
    pub fn write(&self, path: &WorkspacePath, mut bytes: &[u8]) -> Result<Written, FileError> {
        self.write_from(path, &mut bytes)
    }

    /// Writes like [`Jail::write`], with the bytes of `content`, which need not fit into memory.
    ///
    /// # Errors
    ///
    /// Fails like [`Jail::write`], or if `content` cannot be read.
    pub fn write_from(
        &self,
        path: &WorkspacePath,
        content: &mut dyn Read,
    ) -> Result<Written, FileError> {
        let place = self.for_writing(path)?;
        match place.meta()? {
            None => place.put(content, None).map(|()| Written::Created),
            Some(meta) => {
                place.check_regular(&meta)?;
                place
                    .put(content, Some(meta.permissions()))
                    .map(|()| Written::Replaced)
            }
        }
    }

    /// Adds `bytes` at the end of a file. A missing file is created, as are folders of its path.
    pub fn append(&self, path: &WorkspacePath, bytes: &[u8]) -> Result<Written, FileError> {
        let place = self.for_writing(path)?;
        let written = match place.meta()? {
            None => Written::Created,
            Some(meta) => {
                place.check_regular(&meta)?;
                Written::Replaced
            }
        };
        place.check_writable()?;
        let (mut file, meta) = place.open_file(OpenOptions::new().append(true).create(true))?;
        if meta.nlink() > 1 {
            self.append_to_copy(path, bytes)?;
            return Ok(written);
        }
        file.write_all(bytes)
            .map_err(|error| FileError::from_io(path, error))?;
        Ok(written)
    }

    /// Adds to a file that has other names, possibly outside: these keep the old content.
    fn append_to_copy(&self, path: &WorkspacePath, bytes: &[u8]) -> Result<(), FileError> {
        let mut contents = self.read(path, LARGEST_COPY)?;
        let mut all = std::mem::take(&mut contents.bytes);
        all.extend_from_slice(bytes);
        self.replace(&contents, &all)
    }

    /// Returns the kind of `path`.
    ///
    /// # Errors
    ///
    /// Fails if it does not exist or leads out.
    pub fn kind(&self, path: &WorkspacePath) -> Result<Kind, FileError> {
        let meta = if path.is_root() {
            return Ok(Kind::Folder);
        } else {
            self.existing(path)?.required_meta()?
        };
        Ok(kind_of(&meta.file_type()))
    }

    /// Returns whether no link is on the way to `path`; its own name may be one, or be missing.
    pub fn is_direct(&self, path: &WorkspacePath) -> bool {
        match path.split() {
            None => true,
            Some((parent, _)) if parent.is_root() => true,
            Some((parent, _)) => match self.root.canonicalize(parent.as_path()) {
                Ok(real) => real == parent.as_path(),
                Err(error) => error.kind() == io::ErrorKind::NotFound,
            },
        }
    }

    /// Returns the names in a folder, sorted, at most [`MOST_NAMES`].
    ///
    /// # Errors
    ///
    /// Fails if it is not a folder inside.
    pub fn list(&self, path: &WorkspacePath) -> Result<Vec<Entry>, FileError> {
        let failed = |error| FileError::from_io(path, error);
        let folder = self.folder(path)?;
        let mut entries = Vec::new();
        for entry in folder.entries().map_err(failed)?.take(MOST_NAMES) {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let mark = match kind_of(&entry.file_type().map_err(failed)?) {
                Kind::Folder => "/",
                Kind::File => "",
                Kind::Special("a symbolic link") => "@",
                Kind::Special(_) => "=",
            };
            let shown = format!("{}{mark}", text::visible(&name).0);
            entries.push(Entry { shown });
        }
        entries.sort();
        Ok(entries)
    }

    /// Opens a folder inside.
    ///
    /// # Errors
    ///
    /// Fails if it is not a folder inside.
    pub fn folder(&self, path: &WorkspacePath) -> Result<Dir, FileError> {
        if path.is_protected() {
            return Err(FileError::Protected(path.to_string()));
        }
        if path.is_root() {
            return self
                .root
                .try_clone()
                .map_err(|error| FileError::from_io(path, error));
        }
        let place = self.existing(path)?;
        below(&place.parent, &place.name).map_err(|error| FileError::from_io(path, error))
    }

    /// Returns the real path of an existing file or folder.
    fn existing(&self, path: &WorkspacePath) -> Result<Place, FileError> {
        let real = self.real(path)?.ok_or_else(|| FileError::NotFound {
            path: path.to_string(),
            hint: self.near(path),
        })?;
        self.place(path, &real)
    }

    /// Returns the real path for a write to `path`; missing folders are created.
    fn for_writing(&self, path: &WorkspacePath) -> Result<Place, FileError> {
        let Some((parent, name)) = path.split() else {
            return Err(FileError::IsFolder(path.to_string()));
        };
        let real = match self.real(path)? {
            Some(real) => real,
            None => self.make_folder(&parent)?.join(name),
        };
        if real.is_in_repository() {
            return Err(FileError::Protected(path.to_string()));
        }
        self.place(path, &real)
    }

    /// Returns the real path of a folder, which is created if it is missing.
    fn make_folder(&self, path: &WorkspacePath) -> Result<WorkspacePath, FileError> {
        if let Some(real) = self.real(path)? {
            return Ok(real);
        }
        let Some((parent, name)) = path.split() else {
            return Ok(WorkspacePath::root());
        };
        let above = self.make_folder(&parent)?;
        let real = above.join(name);
        if real.is_in_repository() {
            return Err(FileError::Protected(path.to_string()));
        }
        if real.is_settings() {
            return Err(FileError::Settings(path.to_string()));
        }
        let above = self
            .direct(&above)
            .map_err(|error| FileError::from_io(path, error))?;
        match above.create_dir(name) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(FileError::from_io(path, error))
            }
            Ok(()) | Err(_) => Ok(real),
        }
    }

    /// Returns `path` itself, if no link leads it elsewhere; `None` if nothing is there.
    fn real(&self, path: &WorkspacePath) -> Result<Option<WorkspacePath>, FileError> {
        match self.follow(path)? {
            Some(reached) if reached.is_protected() => Err(FileError::Protected(path.to_string())),
            Some(reached) if reached != *path => Err(FileError::LeadsElsewhere {
                path: path.to_string(),
                reached: reached.to_string(),
            }),
            real => Ok(real),
        }
    }

    /// Returns the target of `path` after following all links; `None` if nothing is there.
    fn follow(&self, path: &WorkspacePath) -> Result<Option<WorkspacePath>, FileError> {
        if path.is_protected() {
            return Err(FileError::Protected(path.to_string()));
        }
        for _ in 0..MOST_LOOKS {
            match self.root.canonicalize(path.as_path()) {
                Ok(real) => return readable(path, &real).map(Some),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(FileError::from_io(path, error)),
            }
            match self.root.symlink_metadata(path.as_path()) {
                Err(_) => return Ok(None),
                // A dangling link is not a free name: a write there would go through it.
                Ok(meta) if meta.is_symlink() => break,
                // Another call created it between the two attempts.
                Ok(_) => {}
            }
        }
        Err(FileError::Outside(path.to_string()))
    }

    fn place(&self, asked: &WorkspacePath, real: &WorkspacePath) -> Result<Place, FileError> {
        let Some((parent, name)) = real.split() else {
            return Err(FileError::IsFolder(asked.to_string()));
        };
        if real.is_protected() {
            return Err(FileError::Protected(asked.to_string()));
        }
        let parent = self
            .direct(&parent)
            .map_err(|error| FileError::from_io(asked, error))?;
        Ok(Place {
            parent,
            name: name.to_owned(),
            path: asked.clone(),
            real: real.clone(),
        })
    }

    /// Opens a folder by its real path. A link on the way was swapped in after that path was found, and may lead to a
    /// protected name: it is not followed.
    fn direct(&self, real: &WorkspacePath) -> io::Result<Dir> {
        let mut folder = self.root.try_clone()?;
        let names = real.as_str().split('/').filter(|name| *name != ".");
        for name in names {
            folder = below(&folder, name)?;
        }
        Ok(folder)
    }

    /// Returns `; did you mean …?` with a name of the same folder, or nothing.
    fn near(&self, path: &WorkspacePath) -> String {
        let Some((parent, name)) = path.split() else {
            return String::new();
        };
        let entries = self.list(&parent).unwrap_or_default();
        let names = entries.iter().map(|entry| entry.shown.as_str());
        match text::near(name, names) {
            Some(near) => {
                let near = parent.join(near);
                format!("; did you mean `{near}`?")
            }
            None => String::new(),
        }
    }
}

/// Opens the folder `name` of `folder`, unless it is something else or a link.
pub(super) fn below(folder: &Dir, name: &str) -> io::Result<Dir> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = openat(folder, name, flags, Mode::empty())?;
    Ok(Dir::from_std_file(opened.into()))
}

/// Whether a write created a file or changed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// The file did not exist before.
    Created,
    Replaced,
}

/// Returns a resolved path as a [`WorkspacePath`]; one with invalid names is refused.
fn readable(asked: &WorkspacePath, real: &Path) -> Result<WorkspacePath, FileError> {
    match real.to_str() {
        Some(real) => WorkspacePath::parse(real),
        None => Err(FileError::BadPath {
            path: asked.to_string(),
            reason: "it leads to a name that is not UTF-8".into(),
        }),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Barrier;

    use cap_std::ambient_authority;

    use super::*;

    const AT_ONCE: usize = 4;

    #[test]
    fn several_calls_write_into_one_new_folder_at_once() {
        let home = tempfile::tempdir().unwrap();
        let root = Dir::open_ambient_dir(home.path(), ambient_authority()).unwrap();
        let jail = Jail::of(root);
        for round in 0..200 {
            let begin = Barrier::new(AT_ONCE);
            let write = &|number: usize| {
                begin.wait();
                let path = WorkspacePath::parse(&format!("new{round}/deep/{number}")).unwrap();
                jail.write(&path, b"x").unwrap()
            };
            std::thread::scope(|scope| {
                let calls: Vec<_> = (0..AT_ONCE)
                    .map(|number| scope.spawn(move || write(number)))
                    .collect();
                for call in calls {
                    assert_eq!(call.join().unwrap(), Written::Created);
                }
            });
        }
    }
}
