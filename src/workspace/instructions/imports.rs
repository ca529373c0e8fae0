//! Reads one file of instructions with its imports: links within the repository, `@path` as in Claude Code, and the
//! encodings of Windows' editors.
//!
//! Nothing outside the workspace is read, and only files with names for prose: a repository must not bring secrets of
//! its workspace, such as `.env`, into each request. An import is judged like a call of `view`. Files that are not
//! included are named.

use std::path::Path;

use cap_std::fs::Dir;
use encoding_rs::{UTF_16BE, UTF_16LE, WINDOWS_1252};

use super::super::regular_file;
use super::{Stamp, stamp_of_any};
use crate::permission::{Action, Decision, Rights};
use crate::text;

/// Deepest chain of imports, as in Claude Code.
const MOST_HOPS: usize = 5;

/// Most files that one file of instructions may import.
const MOST_FILES: usize = 32;

/// Most remarks about files that are not included.
const MOST_NOTES: usize = 10;

/// Endings of names of files that may be imported.
const PROSE: [&str; 5] = ["md", "mdc", "markdown", "txt", "rst"];

/// A file of instructions with its imports.
pub(super) struct Whole<'a> {
    files: &'a Dir,
    most: usize,
    /// The agent's rights; `None` allows nothing.
    rights: Option<&'a Rights>,
    /// Whether the rights were checked.
    pub(super) was_judged: bool,
    pub(super) text: String,
    /// The files that were imported or searched for, with their state.
    pub(super) imported: Vec<(String, Option<Stamp>)>,
    /// The paths of the included files, without links.
    included: Vec<String>,
    notes: Vec<String>,
    left_out: usize,
}

/// A text file, with a remark about its encoding.
struct Decoded {
    text: String,
    is_guessed: bool,
}

/// Why a file is not included.
#[derive(Clone, Copy, Debug, thiserror::Error)]
enum Fault {
    #[error("there is no such file")]
    Missing,
    #[error("it leads out of the repository, or to nothing")]
    Outside,
    #[error("it is not a regular file")]
    NoFile,
    #[error("it is not text")]
    NoText,
    #[error("only Markdown and plain text are imported; `view` shows it")]
    NoProse,
    #[error("your permission profile denies `view` for it")]
    Denied,
    #[error("your permission profile asks before `view` for it; call `view` if you need it")]
    Asked,
    #[error("imports are followed five files deep; `view` shows it")]
    TooDeep,
    #[error("at most 32 files are imported; `view` shows it")]
    TooMany,
    #[error("there is no room for it; `view` shows it")]
    NoRoom,
}

impl<'a> Whole<'a> {
    /// Creates an empty text, which takes `most` bytes and no import after that.
    pub(super) fn new(files: &'a Dir, most: usize, rights: Option<&'a Rights>) -> Self {
        Self {
            files,
            most,
            rights,
            was_judged: false,
            text: String::new(),
            imported: Vec::new(),
            included: Vec::new(),
            notes: Vec::new(),
            left_out: 0,
        }
    }

    /// Adds the file `name` with its imports; false if it is empty or cannot be read, which is noted.
    pub(super) fn begin(&mut self, name: &str) -> bool {
        let found = self.resolved(name).and_then(|path| {
            // A repository may make this name a link to `.env`.
            if !may_be_read(&path) {
                return Err(Fault::NoProse);
            }
            if path != name {
                self.judge(name, &path)?;
            }
            Ok((self.read(&path)?, path))
        });
        match found {
            Ok((decoded, _)) if decoded.text.trim().is_empty() => false,
            Ok((decoded, path)) => {
                self.add(name, &path, decoded, 0);
                true
            }
            Err(Fault::Missing) => false,
            Err(fault) => {
                self.note(name, &fault.to_string());
                false
            }
        }
    }

    /// Notes that `other` is not read because `name` is, unless it is included.
    pub(super) fn mention(&mut self, other: &str, name: &str) {
        match self.resolved(other) {
            Ok(path) if self.included.contains(&path) => {}
            Ok(_) => self.note(other, &format!("`{name}` is read instead; `view` shows it")),
            Err(fault) => self.note(other, &fault.to_string()),
        }
    }

    /// Returns the files that are not included and why, one line each.
    pub(super) fn notes(&self) -> Vec<String> {
        let more = self.left_out;
        let rest = (more > 0).then(|| format!("[{more} more remarks are left out.]"));
        self.notes.iter().cloned().chain(rest).collect()
    }

    fn note(&mut self, name: &str, why: &str) {
        let name = text::code_span(&text::one_line(name, 120));
        self.remark(format!("[{name} is not included: {why}.]"));
    }

    fn remark(&mut self, remark: String) {
        if self.notes.contains(&remark) {
            return;
        }
        if self.notes.len() < MOST_NOTES {
            self.notes.push(remark);
        } else {
            self.left_out += 1;
        }
    }

    /// Returns the path without links, from the top of the workspace.
    fn resolved(&self, path: &str) -> Result<String, Fault> {
        let found = self.files.canonicalize(path).map_err(|_| {
            // A path that exists but has no place within the workspace is a link.
            match self.files.symlink_metadata(path) {
                Ok(_) => Fault::Outside,
                Err(_) => Fault::Missing,
            }
        })?;
        let found = found.into_os_string().into_string();
        found.map_err(|_| Fault::NoText)
    }

    fn read(&self, path: &str) -> Result<Decoded, Fault> {
        let bytes = regular_file::head(self.files, path, bytes_for(self.most + 1));
        let bytes = bytes.map_err(|_| Fault::Missing)?.ok_or(Fault::NoFile)?;
        decoded(bytes, self.most + 1).ok_or(Fault::NoText)
    }

    /// Checks that the agent may `view` the file `path`, which leads to `place`.
    fn judge(&mut self, path: &str, place: &str) -> Result<(), Fault> {
        self.was_judged = true;
        let decision = self.rights.map_or(Decision::Deny, |rights| {
            let reached = Action::new("view", place);
            let action = Action::new("view", path).leading_to(reached);
            rights.decide(&action).decision
        });
        match decision {
            Decision::Allow => Ok(()),
            Decision::Ask => Err(Fault::Asked),
            Decision::Deny => Err(Fault::Denied),
        }
    }

    /// Adds a text line by line, with the files that its lines import in place of those lines.
    fn add(&mut self, name: &str, path: &str, decoded: Decoded, hops: usize) {
        if decoded.is_guessed {
            let name = text::code_span(&text::one_line(name, 120));
            self.remark(format!(
                "[{name} is not UTF-8: it was read as Windows-1252.]"
            ));
        }
        self.included.push(path.to_owned());
        let folder = Path::new(path).parent().unwrap_or(Path::new("")).to_owned();
        let mut fence = None;
        for line in decoded.text.lines() {
            let is_code = match (&fence, Fence::of(line)) {
                (None, None) => false,
                (None, opened @ Some(_)) => {
                    fence = opened;
                    true
                }
                (Some(open), mark) => {
                    if mark.is_some_and(|mark| mark.closes(open)) {
                        fence = None;
                    }
                    true
                }
            };
            let paths = if is_code { Vec::new() } else { imports(line) };
            let is_alone = |path: &&str| line.trim().strip_prefix('@') == Some(path);
            let stands_alone = paths.first().is_some_and(is_alone);
            let before = self.text.len();
            // Beyond the bound, only the names of files without room count.
            let is_full = before > self.most;
            if !stands_alone && !is_full {
                self.text.push_str(line);
                self.text.push('\n');
            }
            for path in paths {
                self.import(&folder, path, hops + 1);
            }
            // The author's words stay if nothing replaces them.
            if stands_alone && !is_full && self.text.len() == before {
                self.text.push_str(line);
                self.text.push('\n');
            }
        }
    }

    /// Adds the file that `path` names in a file of `folder`.
    fn import(&mut self, folder: &Path, path: &str, hops: usize) {
        match self.imported_text(folder, path, hops) {
            Ok(Some((place, decoded))) => self.add(path, &place, decoded, hops),
            Ok(None) => {}
            // `@scope/package` is also such a name.
            Err(Fault::Missing) if !is_prose(path) => {}
            Err(fault) => self.note(path, &fault.to_string()),
        }
    }

    /// Reads the file that `path` names; `None` if it is already included.
    fn imported_text(
        &mut self,
        folder: &Path,
        path: &str,
        hops: usize,
    ) -> Result<Option<(String, Decoded)>, Fault> {
        if path.starts_with(['/', '~']) {
            return Err(Fault::Outside);
        }
        let beside = folder.join(path);
        let beside = beside.to_str().ok_or(Fault::NoText)?;
        let is_new = !self.imported.iter().any(|(known, _)| known == beside);
        if is_new && is_prose(path) {
            if self.imported.len() == MOST_FILES {
                return Err(Fault::TooMany);
            }
            let stamp = stamp_of_any(self.files, beside);
            self.imported.push((beside.to_owned(), stamp));
        }
        let place = self.resolved(beside).map_err(|fault| {
            let leaves = leaves(beside);
            if leaves { Fault::Outside } else { fault }
        })?;
        if self.included.contains(&place) {
            return Ok(None);
        }
        if !is_prose(path) || !may_be_read(&place) {
            return Err(Fault::NoProse);
        }
        if hops > MOST_HOPS {
            return Err(Fault::TooDeep);
        }
        if self.text.len() >= self.most {
            return Err(Fault::NoRoom);
        }
        self.judge(beside, &place)?;
        let decoded = self.read(&place)?;
        Ok(Some((place, decoded)))
    }
}

/// Returns whether `path` climbs above its starting folder.
fn leaves(path: &str) -> bool {
    let mut depth = 0_i32;
    path.split('/').any(|part| {
        depth += match part {
            ".." => -1,
            "" | "." => 0,
            _ => 1,
        };
        depth < 0
    })
}

/// Returns whether a path names prose: by its ending, and not hidden, as `.env.md` would be.
fn is_prose(path: &str) -> bool {
    let path = Path::new(path);
    let is_hidden = path
        .file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with('.'));
    let ending = path.extension().and_then(|ending| ending.to_str());
    let is_known = |ending: &str| PROSE.iter().any(|known| ending.eq_ignore_ascii_case(known));
    !is_hidden && ending.is_some_and(is_known)
}

/// Checks whether a path without links names prose outside of a repository's own folder.
fn may_be_read(place: &str) -> bool {
    is_prose(place)
        && !place
            .split('/')
            .any(|name| name.eq_ignore_ascii_case(".git"))
}

/// A line that opens or closes a block of code.
struct Fence {
    mark: char,
    length: usize,
    is_bare: bool,
}

impl Fence {
    fn of(line: &str) -> Option<Self> {
        let line = line.trim();
        let mark = line
            .chars()
            .next()
            .filter(|mark| matches!(mark, '`' | '~'))?;
        let info = line.trim_start_matches(mark);
        let length = line.len() - info.len();
        let is_code_in_a_line = mark == '`' && info.contains('`');
        (length >= 3 && !is_code_in_a_line).then_some(Self {
            mark,
            length,
            is_bare: info.is_empty(),
        })
    }

    fn closes(&self, open: &Self) -> bool {
        self.is_bare && self.mark == open.mark && self.length >= open.length
    }
}

/// Returns the paths that a line imports: after an `@` that begins a word, not within code.
fn imports(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut is_code = false;
    let mut before = ' ';
    for (at, character) in line.char_indices() {
        if character == '`' {
            is_code = !is_code;
        }
        if character == '@' && !is_code && (before.is_whitespace() || before == '(') {
            let word = line[at + 1..].split(|end: char| end.is_whitespace() || end == '`');
            let word = word.into_iter().next().unwrap_or_default();
            let path = word.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '"', '\'']);
            if path.contains(['/', '.']) {
                found.push(path);
            }
        }
        before = character;
    }
    found
}

/// Returns the start of a text file with Unix line ends; `None` if it is not text.
pub(super) fn read_text(files: &Dir, path: &str, most: usize) -> Option<String> {
    let bytes = regular_file::head(files, path, bytes_for(most)).ok()??;
    Some(decoded(bytes, most)?.text)
}

/// Returns the bytes of a file for `most` bytes of its text: UTF-16 has two for each Latin letter.
fn bytes_for(most: usize) -> u64 {
    2 * most as u64 + 2
}

/// Returns the first `most` bytes of a text, or a little less; `None` if `bytes` are not text.
fn decoded(mut bytes: Vec<u8>, most: usize) -> Option<Decoded> {
    let utf_16 = match bytes.get(..2) {
        Some(b"\xff\xfe") => Some(UTF_16LE),
        Some(b"\xfe\xff") => Some(UTF_16BE),
        Some(_) | None => None,
    };
    let mut is_guessed = false;
    let text = if let Some(encoding) = utf_16 {
        encoding.decode_with_bom_removal(&bytes).0.into_owned()
    } else {
        if bytes.get(..most.min(bytes.len()))?.contains(&0) {
            return None;
        }
        bytes.truncate(most);
        if let Err(error) = std::str::from_utf8(&bytes) {
            // Cut within a character at the end of the part that was read; at any other place it is not UTF-8.
            match error.error_len() {
                None => bytes.truncate(error.valid_up_to()),
                Some(_) => is_guessed = true,
            }
        }
        if is_guessed {
            let (text, _) = WINDOWS_1252.decode_without_bom_handling(&bytes);
            text.into_owned()
        } else {
            String::from_utf8(bytes).ok()?
        }
    };
    if text.contains('\0') {
        return None;
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    Some(Decoded {
        text: text.replace("\r\n", "\n"),
        is_guessed,
    })
}

#[cfg(test)]
mod tests {
    use super::{imports, leaves};

    #[test]
    fn an_import_is_a_path_after_an_at_sign_outside_of_code() {
        for (line, paths) in [
            ("@docs/git.md", vec!["docs/git.md"]),
            (
                "See @docs/git.md, and (@./a.md).",
                vec!["docs/git.md", "./a.md"],
            ),
            ("`@docs/git.md` and ann@example.org", vec![]),
            ("ask @ann about it", vec![]),
            ("@~/.claude/me.md", vec!["~/.claude/me.md"]),
        ] {
            assert_eq!(imports(line), paths, "{line}");
        }
    }

    #[test]
    fn a_path_that_climbs_above_its_beginning_leaves() {
        for path in ["../a.md", "a/../../b.md", "./../../x"] {
            assert!(leaves(path), "{path}");
        }
        for path in ["a/../b.md", "./a.md", "a/b/../../c.md"] {
            assert!(!leaves(path), "{path}");
        }
    }
}
