//! A small file in a folder that others also write to: read without following links, and replaced as a whole.

use std::io::{self, Read as _, Write as _};

use cap_std::fs::{Dir, File, OpenOptions, OpenOptionsExt as _};
use rustix::fs::OFlags;
use rustix::io::Errno;
use uuid::Uuid;

/// Opens the file at `path` in `folder`. `None` for anything except a regular file: a link is not followed, and a pipe
/// would keep its reader waiting.
///
/// # Errors
///
/// Fails if it is missing or cannot be opened.
pub fn open(folder: &Dir, path: &str) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .custom_flags((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits() as i32);
    let file = match folder.open_with(path, &options) {
        Ok(file) => file,
        Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(file.metadata()?.is_file().then_some(file))
}

/// Returns the first `most` bytes of a regular file; `None` for anything else.
///
/// # Errors
///
/// Fails if it is missing or cannot be read.
pub fn head(folder: &Dir, path: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
    let Some(file) = open(folder, path)? else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Replaces the file `name` with `bytes`, so that a crash leaves the complete old or new file.
///
/// # Errors
///
/// Fails if the disk fails; then the old file stays.
pub fn replace(folder: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
    let unfinished = format!(".{name}-{}.tmp", Uuid::new_v4().simple());
    let written = write_durably(folder, &unfinished, bytes).and_then(|()| {
        folder.rename(&unfinished, folder, name)?;
        folder.open(".")?.sync_all()
    });
    if written.is_err() {
        // The remains of a failed write; a missing file is no error.
        let _ = folder.remove_file(&unfinished);
    }
    written
}

fn write_durably(folder: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut file = folder.open_with(name, OpenOptions::new().write(true).create_new(true))?;
    file.write_all(bytes)?;
    file.sync_all()
}
