//! The size of a workspace, counted within a time limit.

use std::io;
use std::time::Instant;

use cap_std::fs::Dir;

/// Most levels of folders that are counted.
const DEEPEST: usize = 64;

/// The counted files with their length; links are not followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    pub bytes: u64,
    /// Whether the count is complete.
    pub whole: bool,
}

/// Counts the contents of `folder`, until the time is up.
pub fn of(folder: &Dir, until: Instant) -> Size {
    let mut size = Size {
        bytes: 0,
        whole: true,
    };
    if count(folder, until, 0, &mut size).is_err() {
        size.whole = false;
    }
    size
}

fn count(folder: &Dir, until: Instant, depth: usize, size: &mut Size) -> io::Result<()> {
    for entry in folder.entries()? {
        if Instant::now() >= until || depth > DEEPEST {
            size.whole = false;
            return Ok(());
        }
        let entry = entry?;
        let Ok(meta) = entry.metadata() else {
            continue;
        };
        if meta.is_file() {
            size.bytes = size.bytes.saturating_add(meta.len());
        } else if meta.is_dir() {
            match entry.open_dir() {
                Ok(below) => count(&below, until, depth + 1, size)?,
                Err(_) => size.whole = false,
            }
        }
    }
    Ok(())
}
