//! A small file in a folder to which others write as well: read without following links, and replaced whole.

use std::io::{self, Read as _, Write as _};

use cap_std::fs::{Dir, File, OpenOptions, OpenOptionsExt as _};
use rustix::fs::OFlags;
use rustix::io::Errno;
use uuid::Uuid;

/// Opens the file at `path` in `folder`. `None` for anything but a regular file: a link is not followed, and a pipe would
/// keep its reader waiting.
///
/// # Errors
///
/// When it is missing or cannot be opened.
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

/// The first `most` bytes of a regular file; `None` for anything else.
///
/// # Errors
///
/// When it is missing or cannot be read.
pub fn head(folder: &Dir, path: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
    let Some(file) = open(folder, path)? else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Replaces the file `name` with `bytes`, so that a crash leaves the old file or the new one, whole.
///
/// # Errors
///
/// When the disk fails; the old file then stays.
pub fn replace(folder: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
    let unfinished = format!(".{name}-{}.tmp", Uuid::new_v4().simple());
    let written = write_durably(folder, &unfinished, bytes).and_then(|()| {
        folder.rename(&unfinished, folder, name)?;
        folder.open(".")?.sync_all()
    });
    if written.is_err() {
        // What a failed write left; it is no error if there is nothing.
        let _ = folder.remove_file(&unfinished);
    }
    written
}

fn write_durably(folder: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut file = folder.open_with(name, OpenOptions::new().write(true).create_new(true))?;
    file.write_all(bytes)?;
    file.sync_all()
}
