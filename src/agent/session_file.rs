//! A saved session as a JSON file: one format written, the dialects of both seeds read.
//!
//! `docs/maintaining/ledger.md` lists the keys. What this program wrote is read back and written again byte for byte.

mod content;
mod disk;
mod form;
mod read;
mod write;

pub use content::SessionFile;
pub use disk::{FileError, MAX_BYTES, Written, create, load, remove_leftovers};
pub use read::{InvalidMessage, InvalidSession, parse};
