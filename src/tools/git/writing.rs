//! Allows one writer of a repository at a time, and removes the remains of a killed one.
//!
//! A process that writes may be killed at any moment: at the end of its call, by a limit, by the kernel or with the
//! machine. Then libgit2's locks and half-written objects would stay, and no commit would be possible any longer. So a
//! writer keeps a separate, locked file in `.git`, and removes it at its end. The next writer that finds the file
//! without its lock knows that a writer was killed, and removes the remains that are not older than the file.

use std::io::{self, Write};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use cap_std::fs::{Dir, File, MetadataExt, OpenOptions, OpenOptionsExt};
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use super::vet::refused;
use crate::tools::error::ToolError;

/// The file of a writer, in `.git`.
const MARKER: &str = "chorus-writing";

/// The text in it for people.
const EXPLANATION: &str = "Chorus is writing to this repository. If it was killed, its next git call removes what that left.\n";

/// How often the lock of another writer is checked, and how long the wait between two checks is: a killed process needs
/// a moment to end.
const LOOKS: usize = 20;
const BETWEEN: Duration = Duration::from_millis(100);

/// The right to write to a repository. Dropping it releases it.
pub(super) struct Writing<'a> {
    git: &'a Dir,
    marker: File,
    /// When a writer began that was killed, if its remains were not removed yet.
    killed: Option<SystemTime>,
}

impl<'a> Writing<'a> {
    /// Waits for another writer of `git`.
    ///
    /// # Errors
    ///
    /// Fails if another writer is still at work, or the file cannot be created.
    pub(super) fn begin(git: &'a Dir) -> Result<Self, ToolError> {
        for _ in 0..LOOKS {
            let (marker, killed) =
                open(git).map_err(|error| refused(&format!("`.git/{MARKER}`: {error}")))?;
            match flock(&marker, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) if is_in_place(git, &marker) => {
                    let mut begun = Self {
                        git,
                        marker,
                        killed,
                    };
                    if killed.is_none() {
                        begun.explain()?;
                    }
                    return Ok(begun);
                }
                // Its writer has ended and removed it meanwhile.
                Ok(()) => continue,
                Err(Errno::WOULDBLOCK) => sleep(BETWEEN),
                Err(error) => return Err(ToolError::failed(error)),
            }
        }
        Err(ToolError::rejected(
            "another git call still writes to this repository; try again when it is done",
        ))
    }

    /// Removes those of `left_over` that a killed writer left.
    pub(super) fn clean(&mut self, left_over: &[String]) -> Result<(), ToolError> {
        let Some(since) = self.killed else {
            return Ok(());
        };
        for path in left_over {
            let made = self.git.symlink_metadata(path);
            let made = made.and_then(|meta| meta.modified());
            if made.is_ok_and(|made| made.into_std() >= since) {
                // If a file stays, the operation that needs it reports that.
                let _ = self.git.remove_file(path);
            }
        }
        self.killed = None;
        self.explain()
    }

    /// Writes the file's purpose into it. Its time is from now on that of this writer.
    fn explain(&mut self) -> Result<(), ToolError> {
        let written = self.marker.write_all(EXPLANATION.as_bytes());
        written.map_err(ToolError::failed)
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        // While there are remains, the next writer has to know of them.
        if self.killed.is_none() {
            let _ = self.git.remove_file(MARKER);
        }
    }
}

/// Opens the file of a writer. If there already was one, returns its time.
fn open(git: &Dir) -> io::Result<(File, Option<SystemTime>)> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .create_new(true)
        .custom_flags(OFlags::NOFOLLOW.bits() as i32);
    match git.open_with(MARKER, &options) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => return Ok((made?, None)),
    }
    let marker = git.open_with(MARKER, options.create_new(false).create(true))?;
    let since = marker.metadata()?.modified()?.into_std();
    Ok((marker, Some(since)))
}

/// Returns whether the name still belongs to this file.
fn is_in_place(git: &Dir, marker: &File) -> bool {
    let named = git.symlink_metadata(MARKER);
    let opened = marker.metadata();
    matches!((named, opened), (Ok(named), Ok(opened)) if named.ino() == opened.ino())
}
