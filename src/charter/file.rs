//! A charter's file: the checks before anything is read, and the end of its front matter.

use std::borrow::Cow;

use super::problem::Problems;

/// Largest file, in bytes.
pub const MAX_BYTES: usize = 64 << 10;

/// Largest front matter, in bytes.
const MAX_FRONT: usize = 16 << 10;

/// The possible authors of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// People: a mistake is an error.
    People,
    /// Anyone who writes to the repository, including the agent: doubt narrows, and a mistake is a note.
    Repository,
}

/// A file to compile.
#[derive(Clone, Copy, Debug)]
pub struct Charter<'a> {
    /// The path for people; the role has the file's name if it names none.
    pub path: &'a str,
    pub bytes: &'a [u8],
    pub trust: Trust,
}

/// A file's two halves.
pub(super) struct Text {
    /// The front matter, if there is one.
    pub(super) front: Option<String>,
    /// The number of its first line in the file.
    pub(super) first: usize,
    pub(super) body: String,
}

impl Charter<'_> {
    /// Returns the file's name without `.md` or `.agent.md`.
    pub(super) fn stem(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or(self.path);
        let name = name.strip_suffix(".md").unwrap_or(name);
        name.strip_suffix(".agent").unwrap_or(name)
    }

    /// Returns whether the role has the file's name, and its `name` is only shown to people.
    pub(super) fn is_copilot(&self) -> bool {
        self.path.ends_with(".agent.md") || self.path.contains(".github/agents/")
    }
}

/// Splits a file into its parts, with Unix line ends and without a byte order mark.
pub(super) fn read(bytes: &[u8]) -> Result<Text, Problems> {
    let refuse = |message: &str, instead: &str| Err(Problems::one(0, message, instead));
    if bytes.len() > MAX_BYTES {
        return refuse("the file has more than 64 KiB", "shorten it");
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return refuse("the file is UTF-16", "save it as UTF-8");
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return refuse("the file is not UTF-8", "save it as UTF-8");
    };
    if text.contains('\0') {
        return refuse("the file holds a NUL character", "take it out");
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text: Cow<'_, str> = if text.contains('\r') {
        text.replace("\r\n", "\n").replace('\r', "\n").into()
    } else {
        text.into()
    };
    if text.trim().is_empty() {
        return refuse(
            "the file is empty",
            "write front matter with `name` and `description`, and the prompt below it",
        );
    }
    split(&text)
}

fn split(text: &str) -> Result<Text, Problems> {
    let (text, first) = match unfenced(text) {
        Some(inside) => (inside, 2),
        None => (text.to_owned(), 1),
    };
    let Some(start) = front_start(&text) else {
        return Ok(Text {
            front: None,
            first: 1,
            body: text,
        });
    };
    let first = first + text[..start].matches('\n').count();
    let mut lines = text[start..].split_inclusive('\n');
    let mut front = String::new();
    while let Some(line) = lines.next() {
        if is_end(line) {
            return Ok(Text {
                front: Some(front),
                first,
                body: lines.collect(),
            });
        }
        if front.len() + line.len() > MAX_FRONT {
            return Err(Problems::one(
                first - 1,
                "the front matter has more than 16 KiB, or is not closed",
                "close it by a line `---`",
            ));
        }
        front.push_str(line);
    }
    Err(Problems::one(
        first - 1,
        "the front matter is not closed",
        "close it by a line `---`",
    ))
}

/// Returns whether a line closes front matter.
pub(super) fn is_end(line: &str) -> bool {
    matches!(line.trim_end(), "---" | "...")
}

/// Returns where the first line of the front matter begins. Only empty lines and comments may precede the line `---`.
pub(super) fn front_start(text: &str) -> Option<usize> {
    let mut at = 0;
    let mut is_comment = false;
    let mut has_comments = false;
    for line in text.split_inclusive('\n') {
        let bare = line.trim();
        at += line.len();
        if is_comment || bare.starts_with("<!--") {
            is_comment = !bare.ends_with("-->");
        } else if bare.starts_with('#') {
            has_comments = true;
        } else if line.trim_end() == "---" {
            let next = text[at..].lines().next().unwrap_or_default();
            // Below a heading, the line may be a rule between two parts.
            return (!has_comments || begins_entry(next)).then_some(at);
        } else if !bare.is_empty() {
            return None;
        }
    }
    None
}

/// Returns whether a line is a key followed by a colon.
fn begins_entry(line: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let key = line.split_once(':').map_or("", |(key, _)| key);
    !key.is_empty() && key.chars().all(is_word)
}

/// Returns the content of a code block that is the whole file, for example a pasted reply of a model: its first line is
/// line 2. `None` if the file does not begin with one.
fn unfenced(text: &str) -> Option<String> {
    let (opening, inside) = text.split_once('\n')?;
    let word = opening.trim_start_matches('`');
    let fence = &opening[..opening.len() - word.len()];
    let is_opening = fence.len() >= 3 && word.trim_end().chars().all(char::is_alphanumeric);
    if !is_opening || inside.lines().next()?.trim_end() != "---" {
        return None;
    }
    let mut lines: Vec<&str> = inside.lines().collect();
    let fences = lines.iter().filter(|line| line.starts_with("```")).count();
    // Blocks within it have two fences each: the remaining one closes the outer block.
    if fences % 2 == 1
        && let Some(closing) = lines.iter().rposition(|line| line.trim_end() == fence)
    {
        lines.remove(closing);
    }
    Some(lines.join("\n") + "\n")
}
