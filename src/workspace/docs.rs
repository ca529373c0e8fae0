//! The agent's notes: every text file under `docs/`, in the form that each of its requests contains.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use cap_std::fs::{Dir, MetadataExt};
use cap_std::time::SystemTime;
use parking_lot::Mutex;

use super::Workspace;
use super::error::FileError;
use super::regular_file;
use crate::text;

/// Most bytes of notes in a request.
pub const MOST_BYTES: usize = 64 * 1024;

/// Most files that are read; more are not even named.
const MOST_FILES: usize = 1_000;

/// Most names that are read during the search for them.
const MOST_NAMES: usize = 10_000;

/// Most levels of folders that are searched.
const DEEPEST: usize = 8;

/// The notes as text, one section per file, each under its path; empty if there are none.
pub type Docs = Arc<str>;

/// Reads notes again only when a file's name, size, time or inode changed. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct DocsCache {
    known: Arc<Mutex<Known>>,
}

/// By the agent's folder: the stamps of the notes' files, and the notes.
type Known = HashMap<PathBuf, (Vec<Stamp>, Docs)>;

/// Shows whether a file changed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Stamp {
    path: String,
    size: u64,
    modified: Option<SystemTime>,
    inode: u64,
}

impl DocsCache {
    /// Returns the notes of `workspace`, as they are on disk now.
    ///
    /// # Errors
    ///
    /// Fails if `docs/` exists but cannot be read; without it there are no notes.
    pub fn read(&self, workspace: &Workspace) -> Result<Docs, FileError> {
        let docs = match workspace.docs() {
            Ok(docs) => docs,
            Err(FileError::NotFound { .. }) => return Ok("".into()),
            Err(error) => return Err(error),
        };
        let failed = |error| FileError::from_io("docs", error);
        let mut stamps = Vec::new();
        let mut names_left = MOST_NAMES;
        collect(docs.dir(), ("", 0), &mut names_left, &mut stamps).map_err(failed)?;
        stamps.sort();
        let key = workspace.folder().to_owned();
        if let Some((known, text)) = self.known().get(&key)
            && *known == stamps
        {
            return Ok(text.clone());
        }
        let text: Docs = render(docs.dir(), &stamps).into();
        self.known().insert(key, (stamps, text.clone()));
        Ok(text)
    }

    /// Forgets the notes of an agent that is gone.
    pub fn forget(&self, workspace: &Workspace) {
        self.known().remove(workspace.folder());
    }

    fn known(&self) -> parking_lot::MutexGuard<'_, Known> {
        self.known.lock()
    }
}

/// Collects the regular files below `folder`; links are not followed.
fn collect(
    folder: &Dir,
    (path, depth): (&str, usize),
    names_left: &mut usize,
    stamps: &mut Vec<Stamp>,
) -> io::Result<()> {
    for entry in folder.entries()? {
        let entry = entry?;
        if *names_left == 0 {
            break;
        }
        *names_left -= 1;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let path = match path {
            "" => name,
            parent => format!("{parent}/{name}"),
        };
        let meta = match entry.metadata() {
            Ok(meta) => meta,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        if meta.is_dir() && depth < DEEPEST {
            collect(&entry.open_dir()?, (&path, depth + 1), names_left, stamps)?;
        } else if meta.is_file() && stamps.len() < MOST_FILES {
            stamps.push(Stamp {
                path,
                size: meta.len(),
                modified: meta.modified().ok(),
                inode: meta.ino(),
            });
        }
    }
    Ok(())
}

fn render(docs: &Dir, stamps: &[Stamp]) -> String {
    let mut all = String::new();
    let mut left_out = Vec::new();
    for stamp in stamps {
        let room = MOST_BYTES.saturating_sub(all.len());
        let Some(content) = read_text(docs, &stamp.path, room) else {
            continue;
        };
        let heading = format!("## docs/{}\n\n", text::visible(&stamp.path).0);
        if heading.len() + content.len() + 2 > room || (content.len() as u64) < stamp.size {
            let cut = cut_at(&content, room.saturating_sub(heading.len() + 2));
            if cut.is_empty() {
                left_out.push(format!("docs/{}", stamp.path));
                continue;
            }
            left_out.push(format!("the rest of docs/{}", stamp.path));
            all.push_str(&format!("{heading}{cut}\n\n"));
            continue;
        }
        all.push_str(&format!("{heading}{}\n\n", content.trim_end()));
    }
    if !left_out.is_empty() {
        all.push_str(&note(&left_out));
    }
    all.trim_end().to_owned()
}

fn note(left_out: &[String]) -> String {
    const NAMED: usize = 20;
    let named: Vec<String> = left_out
        .iter()
        .take(NAMED)
        .map(|path| text::visible(path).0)
        .collect();
    let more = match left_out.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "[Left out, for notes have 64 KiB in all: {}{more}. Shorten them, or move what is needed rarely to the workspace.]",
        named.join(", ")
    )
}

/// Returns the file's text, up to a little more than `room` bytes; `None` if it is not text or was deleted.
fn read_text(docs: &Dir, path: &str, room: usize) -> Option<String> {
    let bytes = regular_file::head(docs, path, room as u64 + 4).ok()??;
    if bytes.contains(&0) {
        return None;
    }
    match String::from_utf8(bytes) {
        Ok(text) => Some(text),
        // Cut within a character at the end of the part that was read; at any other place it is not UTF-8.
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let mut bytes = error.into_bytes();
            if bytes.len() - valid > 3 {
                return None;
            }
            bytes.truncate(valid);
            String::from_utf8(bytes).ok()
        }
    }
}

/// Returns the start of `text`, in whole lines if possible, at most `most` bytes.
fn cut_at(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    match text[..end].rfind('\n') {
        Some(line_end) => &text[..line_end],
        None => &text[..end],
    }
}
