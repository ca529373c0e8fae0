//! The lock on a home, which only one daemon may use.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use super::error::StoreError;

/// Name of the lock file within the home.
pub const LOCK_FILE: &str = ".lock";

/// Locks a home for this process; dropping it, or the end of the process, frees it.
#[derive(Debug)]
pub struct HomeLock {
    file: File,
    before: Option<String>,
}

impl HomeLock {
    /// Locks `home`, which is created if it is missing.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::Locked`] if another process holds it, and with [`StoreError::Home`] if the folder
    /// cannot be used.
    pub fn acquire(home: &Path) -> Result<Self, StoreError> {
        let unusable = |path: &Path, error: io::Error| StoreError::Home {
            path: path.to_owned(),
            reason: error.to_string(),
        };
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(home)
            .map_err(|error| unusable(home, error))?;
        let path = home.join(LOCK_FILE);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(|error| unusable(&path, error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::Locked {
                    home: home.to_owned(),
                    pid: read_pid(&mut file),
                });
            }
            Err(TryLockError::Error(error)) => return Err(unusable(&path, error)),
        }
        let before = read_holder(&mut file);
        let lock = Self { file, before };
        // The text is only for people; the lock works without it (for example on a full disk).
        let _ = lock.write("");
        Ok(lock)
    }

    /// Returns the text that its last holder wrote about itself.
    pub fn before(&self) -> Option<&str> {
        self.before.as_deref()
    }

    /// Writes a description of the holder, in a line below the number of the process, for commands that read the home.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be written; the lock works without it.
    pub fn describe(&self, holder: &str) -> io::Result<()> {
        self.write(&format!("{holder}\n"))
    }

    fn write(&self, below: &str) -> io::Result<()> {
        let mut file = &self.file;
        file.set_len(0)?;
        file.rewind()?;
        write!(file, "{}\n{below}", std::process::id())
    }
}

/// Most bytes of the file that are read.
const MOST: u64 = 4 << 10;

fn read_holder(file: &mut File) -> Option<String> {
    let mut text = String::new();
    file.take(MOST).read_to_string(&mut text).ok()?;
    text.lines().nth(1).map(str::to_owned)
}

fn read_pid(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(16).read_to_string(&mut text).ok()?;
    text.lines().next()?.trim().parse().ok()
}
