//! `history.md` in an agent's folder: its earlier work, with an entry for each saved conversation.
//!
//! People may edit it: entries that they delete stay deleted, because an entry is written only once, together with its
//! session. Only the end of the file is read, regardless of its size.

use std::io::{self, Read, Seek, SeekFrom, Write};

use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use chrono::{DateTime, Utc};
use rustix::fs::OFlags;

use crate::text;

/// Its name in the agent's folder.
pub const NAME: &str = "history.md";

/// Most bytes from the end of the file that are read.
const LOOKED_AT: u64 = 64 << 10;

/// Most entries that a conversation starts with: the latest ones.
const MOST_ENTRIES: usize = 10;

/// Most bytes of them.
const MOST_BYTES: usize = 8 << 10;

/// Entries for a conversation that continues from a session, even if they are older than that.
const LEAST_AFTER: usize = 3;

/// The format of times in the headings.
const TIME: &str = "%Y-%m-%d %H:%M";

/// A saved conversation.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    pub saved_at: DateTime<Utc>,
    pub description: &'a str,
    /// The first characters of the session's id.
    pub id: &'a str,
    pub summary: &'a str,
}

/// Adds an entry at the end, in one write: a crash leaves all of it or nothing.
///
/// # Errors
///
/// Fails if the file is a link or not a regular file, or the disk fails.
pub fn append(folder: &Dir, entry: &Entry<'_>) -> io::Result<()> {
    let mut file = open(
        folder,
        OpenOptions::new().read(true).append(true).create(true),
    )?;
    let before = match file.seek(SeekFrom::End(0))? {
        0 => "",
        _ if ends_a_line(&mut file)? => "\n",
        _ => "\n\n",
    };
    let text = format!(
        "{before}## {} UTC · {} ({})\n\n{}\n",
        entry.saved_at.format(TIME),
        text::one_line(&text::visible(entry.description).0, 120),
        entry.id,
        unheaded(entry.summary)
    );
    file.write_all(text.as_bytes())?;
    file.sync_data()
}

fn ends_a_line(file: &mut cap_std::fs::File) -> io::Result<bool> {
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

/// Returns the text without lines that look like the heading of an entry.
fn unheaded(text: &str) -> String {
    let lines = text.trim().lines();
    let lines: Vec<String> = lines
        .map(|line| {
            if line.starts_with("##") {
                format!("\\{line}")
            } else {
                line.to_owned()
            }
        })
        .collect();
    lines.join("\n")
}

/// Returns the latest entries as written in the file, oldest first: those that are `newer_than` a time if one is given,
/// but at least the last three. Empty without a file.
///
/// # Errors
///
/// Fails if the file is a link or not a regular file, or the disk fails.
pub fn latest(folder: &Dir, newer_than: Option<DateTime<Utc>>) -> io::Result<String> {
    let mut file = match open(folder, OpenOptions::new().read(true)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
        Err(error) => return Err(error),
    };
    let size = file.seek(SeekFrom::End(0))?;
    let skipped = size.saturating_sub(LOOKED_AT);
    file.seek(SeekFrom::Start(skipped))?;
    let mut bytes = Vec::new();
    file.take(LOOKED_AT).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
    Ok(kept(&text, newer_than))
}

fn kept(text: &str, newer_than: Option<DateTime<Utc>>) -> String {
    let newer_than = newer_than.map(|time| time.format(TIME).to_string());
    let is_newer = |entry: &str| match &newer_than {
        None => true,
        Some(time) => entry.get(3..).is_some_and(|from| from > time.as_str()),
    };
    let (mut kept, mut bytes) = (Vec::new(), 0);
    for (number, entry) in entries(text).into_iter().rev().enumerate() {
        bytes += entry.len() + 2;
        let is_wanted = is_newer(entry) || number < LEAST_AFTER;
        if number == MOST_ENTRIES || bytes > MOST_BYTES || !is_wanted {
            break;
        }
        kept.push(entry);
    }
    kept.reverse();
    kept.join("\n\n")
}

/// Returns the parts of a text that begin with a heading of an entry.
fn entries(text: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = text.match_indices("\n## ").map(|(at, _)| at + 1).collect();
    if text.starts_with("## ") {
        starts.insert(0, 0);
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let parts = starts.iter().zip(ends);
    parts
        .filter_map(|(start, end)| text.get(*start..end).map(str::trim))
        .collect()
}

/// Opens the file unless it is a link or of a kind that would block a reader.
fn open(folder: &Dir, options: &mut OpenOptions) -> io::Result<cap_std::fs::File> {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let file = folder.open_with(NAME, options.custom_flags(flags.bits() as i32))?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other("it is not a regular file"))
    }
}
