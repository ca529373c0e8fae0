//! The list at the end of a backup.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The last entry of the archive.
pub(super) const MANIFEST: &str = "manifest.json";

/// Version of the archive's format, increased when a reader of the old one would misread it.
pub(super) const FORMAT: u32 = 1;

/// Most entries: more than a home has, and few enough to keep the names of all of them in memory.
pub(super) const MOST_ENTRIES: usize = 10_000_000;

#[derive(Debug, Serialize, Deserialize)]
pub(in crate::cli) struct Manifest {
    pub(super) format: u32,
    /// Version of the program that made it.
    pub(in crate::cli) chorus: String,
    pub(in crate::cli) made_at: DateTime<Utc>,
    /// Every file, by its path within the home.
    pub(in crate::cli) files: BTreeMap<String, Entry>,
    /// The folders of the machine in which agents work and that are not in the backup, by the agent's name.
    #[serde(default)]
    pub(in crate::cli) folders_left_out: BTreeMap<String, String>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::cli) struct Entry {
    /// In bytes.
    pub(in crate::cli) size: u64,
    /// Lower-case hex.
    pub(super) sha256: String,
}

/// Returns the name of a file in the list. A name that is not UTF-8 is escaped after a NUL, which no name contains.
pub(super) fn listed(name: &Path) -> String {
    let name: PathBuf = name.components().collect();
    match name.to_str() {
        Some(text) => text.to_owned(),
        None => format!("\0{}", name.as_os_str().as_bytes().escape_ascii()),
    }
}

/// Hashes the bytes that are read through it.
pub(super) struct Hashed<R> {
    inner: R,
    hash: Sha256,
    size: u64,
}

impl<R: Read> Hashed<R> {
    pub(super) fn new(inner: R) -> Self {
        Self {
            inner,
            hash: Sha256::new(),
            size: 0,
        }
    }

    /// Returns the list's entry for the bytes read so far.
    pub(super) fn entry(self) -> Entry {
        Entry {
            size: self.size,
            sha256: format!("{:x}", self.hash.finalize()),
        }
    }
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.hash.update(&buffer[..read]);
        self.size += read as u64;
        Ok(read)
    }
}
