//! Paths as models write them, normalised, with a check of their text that they stay in the folder.
//!
//! Symbolic links are not checked here: `jail` resolves them beneath an open descriptor.

use std::fmt;
use std::path::Path;

use super::error::FileError;
use crate::permission::are_program_settings;
use crate::text;

/// Longest path that Linux accepts, in bytes.
const LONGEST_PATH: usize = 4095;

/// Longest name on Linux, in bytes.
const LONGEST_NAME: usize = 255;

/// Most names in a path: each folder is resolved from the top, and with a thousand of them that takes too long.
const MOST_NAMES: usize = 128;

/// Names in a repository that decide what git runs and where it reads and writes.
///
/// The three in the specification, and the names that can replace them: a repository that points elsewhere is as
/// dangerous as one with a changed configuration.
const PROTECTED: [&str; 8] = [
    "config",
    "config.worktree",
    "hooks",
    "info",
    "commondir",
    "gitdir",
    "modules",
    "worktrees",
];

/// A path below a workspace: no `..`, no empty or `.` parts, no invisible or misleading characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkspacePath(String);

impl WorkspacePath {
    /// Normalises `text`; `a/./b//c/../d` is `a/b/d`, and `.` or nothing is the workspace itself.
    ///
    /// # Errors
    ///
    /// Fails if it is absolute, leads out, or has invalid characters or an invalid length.
    pub fn parse(text: &str) -> Result<Self, FileError> {
        let refuse = |reason: &str| {
            Err(FileError::BadPath {
                path: text::one_line(&text::visible(text).0, 120),
                reason: reason.to_owned(),
            })
        };
        if text.starts_with('/') {
            return refuse("paths are relative to the workspace; leave the leading `/` away");
        }
        if text.chars().any(|c| c.is_control() || text::is_hidden(c)) {
            return refuse("it has control or invisible characters");
        }
        if text.trim() != text {
            return refuse("it begins or ends with white space");
        }
        let mut names: Vec<&str> = Vec::new();
        for name in text.split('/') {
            match name {
                "" | "." => {}
                ".." if names.pop().is_none() => {
                    return refuse("it leads out of the workspace");
                }
                ".." => {}
                name if name.len() > LONGEST_NAME => {
                    return refuse("a name in it is longer than 255 bytes");
                }
                name => names.push(name),
            }
        }
        if names.len() > MOST_NAMES {
            return refuse("it leads through more than 128 folders");
        }
        let path = names.join("/");
        if path.len() > LONGEST_PATH {
            return refuse("it is longer than 4,095 bytes");
        }
        Ok(Self(path))
    }

    pub fn root() -> Self {
        Self(String::new())
    }

    /// Returns whether it is the workspace itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the path as text; `.` for the workspace itself.
    pub fn as_str(&self) -> &str {
        match self.0.as_str() {
            "" => ".",
            path => path,
        }
    }

    /// Returns the path for calls that open it below a descriptor.
    pub fn as_path(&self) -> &Path {
        Path::new(self.as_str())
    }

    /// Returns the folder it is in, and its name there; `None` for the workspace itself.
    pub fn split(&self) -> Option<(Self, &str)> {
        match self.0.rsplit_once('/') {
            Some((parent, name)) => Some((Self(parent.to_owned()), name)),
            None if self.0.is_empty() => None,
            None => Some((Self::root(), &self.0)),
        }
    }

    /// Returns `name` in this folder. The name must be one that [`WorkspacePath::parse`] accepts.
    pub(super) fn join(&self, name: &str) -> Self {
        if self.is_root() {
            Self(name.to_owned())
        } else {
            Self(format!("{}/{name}", self.0))
        }
    }

    /// Returns whether it belongs to a part of a repository that only git itself may change, or to a person's own
    /// configuration of git. A workspace may be a user's home, as in a container.
    pub fn is_protected(&self) -> bool {
        let names = self.folded_names();
        let own: Vec<&str> = names.iter().map(String::as_str).collect();
        if matches!(own.as_slice(), [".gitconfig"] | [".config", "git", ..]) {
            return true;
        }
        names.iter().enumerate().any(|(index, name)| {
            let below: Vec<&str> = names[index + 1..].iter().map(String::as_str).collect();
            name == ".git"
                && match below.as_slice() {
                    [] => false,
                    ["objects", "info", ..] => true,
                    [first, ..] => PROTECTED.contains(first),
                }
        })
    }

    /// Returns whether it is, or is in, settings that make a program start others: no file tool writes them.
    pub(super) fn is_settings(&self) -> bool {
        let names = self.folded_names();
        are_program_settings(&names.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn folded_names(&self) -> Vec<String> {
        self.0.split('/').map(folded).collect()
    }

    /// Returns whether its name is that of a repository's own folder, which must stay a folder.
    pub fn is_repository(&self) -> bool {
        self.0.rsplit('/').next().map(folded).as_deref() == Some(".git")
    }

    /// Returns whether it is, or is in, a repository's own folder.
    pub fn is_in_repository(&self) -> bool {
        self.0.split('/').any(|name| folded(name) == ".git")
    }
}

/// Returns a name as file systems find it that fold case, drop trailing dots, know streams (`name:stream`) or give
/// short names (`GIT~1`).
fn folded(name: &str) -> String {
    let lower = name.to_lowercase();
    let file = lower.split(':').next().unwrap_or_default();
    let trimmed = file.trim_end_matches(['.', ' ']);
    match trimmed.strip_prefix("git~") {
        Some(number) if number.bytes().all(|byte| byte.is_ascii_digit()) => ".git".to_owned(),
        Some(_) | None => trimmed.to_owned(),
    }
}

impl fmt::Display for WorkspacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}
