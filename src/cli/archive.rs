//! The file of a backup: a `.tar.gz` of a home whose last entry lists every file with its SHA-256.
//!
//! Any tar reads it. The list stands at the end because it is known only once everything was read; whoever
//! restores reads the archive twice, the first time to check.
//!
//! Agents work while a backup is made and may have written anything, and a backup may come from anywhere. So [`Writer`] opens
//! each file by descriptor below the one it found it in, and [`Backup`] takes nothing that [`Writer`] does not write.

mod manifest;
mod names;
mod read;
mod write;

pub(super) use manifest::Manifest;
pub(super) use read::{Backup, Checked};
pub(super) use write::Writer;
