//! Session files on disk: made whole and exclusively, read within bounds. Blocking; call off the async threads.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, OFlags, RenameFlags};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use super::SessionFile;
use super::read::parse;

/// Largest session file that is read, in bytes.
pub const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Prefix of files that are being written: they are never read as sessions, and removed after a crash.
const UNFINISHED: &str = ".saving-";

/// Names tried for one session before giving up; each is another session of the same day and words.
const MAX_NAMES: u32 = 10_000;

/// Why a session file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("the session file `{name}` is missing: it was deleted or moved away")]
    Missing { name: String },
    /// It exists, but no session can be read from it.
    #[error("the session file `{name}` cannot be used: {reason}")]
    Unusable {
        name: String,
        /// What is wrong with it, and where.
        reason: String,
    },
    /// It could not be written; nothing of it is left.
    #[error("the session was not saved: {} cannot be written ({source})", path.display())]
    NotWritten {
        /// The file or folder in question.
        path: PathBuf,
        /// The system's own words.
        source: std::io::Error,
    },
}

/// A session file that is safely on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    pub path: PathBuf,
    /// Its stem, which is the session's `session_id`.
    pub stem: String,
    /// SHA-256 of its bytes, lower-case hex.
    pub sha256: String,
}

/// Writes `file` into the folder `sessions` under `stem`, or `stem-2`, `stem-3`, … where that is taken. It appears whole or
/// not at all, and never replaces another.
///
/// # Errors
///
/// [`FileError::NotWritten`] when the disk refuses; nothing is left behind then.
pub fn create(sessions: &Path, stem: &str, mut file: SessionFile) -> Result<Written, FileError> {
    let failed = |path: &Path, source: io::Error| FileError::NotWritten {
        path: path.to_owned(),
        source,
    };
    match fs::DirBuilder::new().mode(0o700).create(sessions) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(failed(sessions, error));
        }
        _ => {}
    }
    let unfinished = sessions.join(format!("{UNFINISHED}{}", uuid::Uuid::new_v4()));
    for number in 1..=MAX_NAMES {
        let name = match number {
            1 => stem.to_owned(),
            _ => format!("{stem}-{number}"),
        };
        let path = sessions.join(format!("{name}.json"));
        if path.symlink_metadata().is_ok() {
            continue;
        }
        file.session_id.clone_from(&name);
        let bytes = file.to_bytes();
        let placed = write_whole(&unfinished, &bytes).and_then(|()| place(&unfinished, &path));
        let placed = placed.and_then(|()| {
            sync_folder(sessions).inspect_err(|_| {
                // A file that may not survive must not be there.
                let _ = fs::remove_file(&path);
            })
        });
        match placed {
            Ok(()) => {
                return Ok(Written {
                    path,
                    stem: name,
                    sha256: format!("{:x}", Sha256::digest(&bytes)),
                });
            }
            Err(error) => {
                let _ = fs::remove_file(&unfinished);
                // Another save took the name between the check and the move.
                if error.kind() != io::ErrorKind::AlreadyExists {
                    return Err(failed(&path, error));
                }
            }
        }
    }
    Err(failed(
        &sessions.join(stem),
        io::Error::other("every similar name is taken"),
    ))
}

fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Moves `from` to `to`, which must not exist.
fn place(from: &Path, to: &Path) -> io::Result<()> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        // Some file systems do not support that kind of rename; making a hard link is as exclusive.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            fs::hard_link(from, to)?;
            fs::remove_file(from)
        }
        Err(error) => Err(error.into()),
    }
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Reads the session file `path`; returns its SHA-256 too.
///
/// # Errors
///
/// [`FileError::Missing`], or [`FileError::Unusable`] with what is wrong and where.
pub fn load(path: &Path) -> Result<(SessionFile, String), FileError> {
    let name = path.file_name().map_or_else(
        || path.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    );
    let bytes = match read_bounded(path) {
        Ok(bytes) => bytes,
        Err(Unread::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
            return Err(FileError::Missing { name });
        }
        Err(Unread::Io(error)) => {
            let reason = error.to_string();
            return Err(FileError::Unusable { name, reason });
        }
        Err(Unread::Refused(reason)) => return Err(FileError::Unusable { name, reason }),
    };
    let session = parse(&bytes).map_err(|error| FileError::Unusable {
        name,
        reason: error.to_string(),
    })?;
    Ok((session, format!("{:x}", Sha256::digest(&bytes))))
}

enum Unread {
    Io(io::Error),
    Refused(String),
}

impl From<io::Error> for Unread {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Opens without following a link and without waiting for a pipe's other end.
fn read_bounded(path: &Path) -> Result<Vec<u8>, Unread> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
        .map_err(|error| match Errno::from_io_error(&error) {
            Some(Errno::LOOP) => Unread::Refused("it is a symbolic link".to_owned()),
            _ => Unread::Io(error),
        })?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(Unread::Refused("it is not a regular file".to_owned()));
    }
    let too_large = || {
        Unread::Refused(format!(
            "it is larger than {}",
            crate::text::bytes(MAX_BYTES)
        ))
    };
    if metadata.len() > MAX_BYTES {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    // It may grow while it is read.
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(too_large());
    }
    Ok(bytes)
}

/// Removes what a crash left of unfinished saves. Only while nobody saves here.
pub fn remove_leftovers(sessions: &Path) {
    let Ok(entries) = fs::read_dir(sessions) else {
        return;
    };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            // If it cannot be removed, it is still not read as a session.
            let _ = fs::remove_file(entry.path());
        }
    }
}
