//! The file that keeps the result of discovery, in the original's format.

use std::io::{self, Read, Write};
use std::path::Path;

use super::available::Available;

/// Longest file that is read; a list of all models in the world is shorter.
const MAX_FILE: u64 = 8 << 20;

/// Reads `path`; `None` if it is missing, truncated or of a wrong shape.
pub fn load(path: &Path) -> Option<Available> {
    let mut text = String::new();
    let file = std::fs::File::open(path).ok()?;
    file.take(MAX_FILE).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// Writes `available` to `path`, whole or not at all.
pub fn save(path: &Path, available: &Available) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    let mut text = serde_json::to_vec_pretty(available)?;
    text.push(b'\n');
    file.write_all(&text)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
