//! The file of a backup: a `.tar.gz` of a home; its last entry lists every file with its SHA-256.
//!
//! Any tar program reads it. The list is at the end because it is known only after everything was read; a restore reads
//! the archive twice, the first time to check it.
//!
//! Agents work during a backup and may write anything, and a backup may come from anywhere. So [`Writer`] opens each
//! file relative to the open folder in which it found it, and [`Backup`] accepts only what [`Writer`] writes.

mod manifest;
mod names;
mod read;
mod write;

pub(super) use manifest::Manifest;
pub(super) use names::{BOUND, FILES, FOLDERS};
pub(super) use read::{Backup, Checked};
pub(super) use write::Writer;
