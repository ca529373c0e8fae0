//! The folder of the machine that an agent is bound to, if its workspace is not its own.
//!
//! A file in the agent's folder records the path and the identity of the folder at the time of binding. Each use opens
//! the path again, name by name and without links, and compares: a folder that was swapped, or whose disk is not
//! mounted, is not used. Nothing stays open between two uses.
//!
//! `config::folders` decides which folders may be bound.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use cap_std::fs::Dir;
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::identity::Identity;
use super::{agent_file, regular_file};

/// Its name in the agent's folder.
pub const NAME: &str = "bound.json";

/// Largest file in bytes: a path has at most 4096.
const MOST_BYTES: u64 = 64 << 10;

/// Longest path in bytes that Linux accepts.
const LONGEST_PATH: usize = 4095;

/// A folder that an agent is bound to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// Absolute, without links.
    pub path: PathBuf,
    identity: Identity,
}

/// Why a folder cannot be used as a workspace. The texts are for the model and for people.
#[derive(Debug, thiserror::Error)]
pub enum BoundError {
    #[error("the path has a NUL character")]
    Nul,
    #[error("the path has {0} bytes; Linux takes at most {LONGEST_PATH}")]
    TooLong(usize),
    #[error("write the whole path, from / on")]
    Relative,
    #[error("write the path without `..`")]
    Dots,
    #[error("`{}` does not exist", .0.display())]
    Missing(PathBuf),
    #[error("`{}` is a symbolic link; write the path without links", .0.display())]
    Link(PathBuf),
    #[error("`{}` is not a folder", .0.display())]
    NotFolder(PathBuf),
    #[error("`{}` cannot be opened: {source}", path.display())]
    Closed { path: PathBuf, source: io::Error },
    /// Another folder has the path.
    #[error("`{}` is not the folder that was bound: its disk may not be mounted, or the folder was replaced", .0.display())]
    Replaced(PathBuf),
    #[error("`agent.json` names `{}`, and the agent was not bound to it: set `workspace` with `/agent config`", .0.display())]
    NotBound(PathBuf),
    /// The file that describes the folder cannot be used.
    #[error("{NAME} of the agent cannot be used: {0}")]
    Record(String),
}

impl Bound {
    /// Binds to the folder at `path`, which must be exactly that path.
    ///
    /// # Errors
    ///
    /// Fails if it is not a folder that can be opened, or a link is in the path.
    pub fn to(path: &Path) -> Result<Self, BoundError> {
        let path = checked(path)?;
        let folder = open(&path)?;
        let closed = |source| BoundError::Closed {
            path: path.clone(),
            source,
        };
        let identity = Identity::of(&folder).map_err(closed)?;
        Ok(Self { path, identity })
    }

    /// Returns `path` without meaningless parts.
    ///
    /// # Errors
    ///
    /// Fails if its letters cannot be the path of a folder.
    pub fn letters(path: &Path) -> Result<PathBuf, BoundError> {
        checked(path)
    }

    /// Returns the binding of the agent in the folder `agent`: the folder that its `agent.json` names. `None` if its
    /// workspace is its own.
    ///
    /// # Errors
    ///
    /// Fails if the file names a folder that the agent was not bound to, or the binding cannot be read.
    pub fn of(agent: &Dir) -> Result<Option<Self>, BoundError> {
        let mut known = Self::known(agent)?;
        match agent_file::workspace(agent) {
            Ok(None) => Ok(None),
            Ok(Some(named)) => {
                let is_named = |bound: &Self| bound.path == named;
                let found = known.into_iter().find(is_named);
                found.map(Some).ok_or(BoundError::NotBound(named))
            }
            // The last good configuration stays in use, and with it the folder.
            Err(_) if known.len() < 2 => Ok(known.pop()),
            Err(error) => Err(BoundError::Record(error.to_string())),
        }
    }

    /// Reads the folders that `agent` may name: one, or two during a change of the binding.
    fn known(agent: &Dir) -> Result<Vec<Self>, BoundError> {
        let unusable = |error: &dyn std::fmt::Display| BoundError::Record(error.to_string());
        let file = match regular_file::open(agent, NAME) {
            Ok(Some(file)) => file,
            Ok(None) => return Err(unusable(&"it is not a regular file")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(unusable(&error)),
        };
        let mut text = String::new();
        file.take(MOST_BYTES)
            .read_to_string(&mut text)
            .map_err(|error| unusable(&error))?;
        let known: Vec<Self> = serde_json::from_str(&text).map_err(|error| unusable(&error))?;
        for bound in &known {
            checked(&bound.path)?;
        }
        Ok(known)
    }

    /// Binds the agent in the folder `agent` to `bound`, or to its own workspace. `name` writes the path into
    /// `agent.json`: that one write decides, so a crash leaves the agent bound to one of the two.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be written, or `name` fails.
    pub fn change<T, E: From<io::Error>>(
        agent: &Dir,
        bound: Option<&Self>,
        name: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let before = Self::of(agent).ok().flatten();
        let both = before
            .iter()
            .filter(|before| Some(*before) != bound)
            .chain(bound);
        // If the path is bound anew to another folder, only the new one counts then.
        let both =
            both.filter(|one| Some(*one) == bound || bound.is_none_or(|new| new.path != one.path));
        Self::write(agent, &both.collect::<Vec<_>>())?;
        let named = name();
        let kept: Vec<&Self> = match &named {
            Ok(_) => bound.into_iter().collect(),
            Err(_) => before.iter().collect(),
        };
        Self::write(agent, &kept)?;
        named
    }

    /// Writes the folders that `agent` may name.
    fn write(agent: &Dir, known: &[&Self]) -> io::Result<()> {
        if !known.is_empty() {
            let mut text = serde_json::to_vec_pretty(known)?;
            text.push(b'\n');
            return regular_file::replace(agent, NAME, &text);
        }
        match agent.remove_file(NAME) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Opens the folder, if it is still the one that was bound.
    ///
    /// # Errors
    ///
    /// Fails if it is missing or was replaced.
    pub fn open(&self) -> Result<Dir, BoundError> {
        let folder = open(&self.path)?;
        let found = Identity::of(&folder).map_err(|source| BoundError::Closed {
            path: self.path.clone(),
            source,
        })?;
        if !found.is_same(&self.identity) {
            return Err(BoundError::Replaced(self.path.clone()));
        }
        Ok(Dir::from_std_file(folder.into()))
    }
}

/// Returns `path` without meaningless parts, if its letters can be a path of a folder.
fn checked(path: &Path) -> Result<PathBuf, BoundError> {
    let bytes = path.as_os_str().as_encoded_bytes();
    if bytes.contains(&0) {
        return Err(BoundError::Nul);
    }
    if bytes.len() > LONGEST_PATH {
        return Err(BoundError::TooLong(bytes.len()));
    }
    if !path.is_absolute() {
        return Err(BoundError::Relative);
    }
    if path.components().any(|part| part == Component::ParentDir) {
        return Err(BoundError::Dots);
    }
    Ok(path.components().collect())
}

/// Opens the folder at `path` from the root on, name by name: no link is followed, not even one that is swapped in
/// meanwhile.
fn open(path: &Path) -> Result<OwnedFd, BoundError> {
    let through = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let into = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at = PathBuf::from("/");
    let mut folder =
        rustix::fs::open(&at, through, Mode::empty()).map_err(|error| why(&at, error, None))?;
    let names: Vec<&OsStr> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name),
            _ => None,
        })
        .collect();
    for (index, name) in names.iter().enumerate() {
        let flags = if index + 1 == names.len() {
            into
        } else {
            through
        };
        at.push(name);
        folder = openat(&folder, *name, flags, Mode::empty())
            .map_err(|error| why(&at, error, Some((folder.as_fd(), name))))?;
    }
    Ok(folder)
}

/// Explains why a name could not be opened. For a link that may not be followed, the kernel reports that it is not a
/// folder.
fn why(at: &Path, error: Errno, name: Option<(std::os::fd::BorrowedFd<'_>, &OsStr)>) -> BoundError {
    let is_link = || {
        name.is_some_and(|(folder, name)| rustix::fs::readlinkat(folder, name, Vec::new()).is_ok())
    };
    match error {
        Errno::NOENT => BoundError::Missing(at.to_owned()),
        Errno::LOOP => BoundError::Link(at.to_owned()),
        Errno::NOTDIR if is_link() => BoundError::Link(at.to_owned()),
        Errno::NOTDIR => BoundError::NotFolder(at.to_owned()),
        error => BoundError::Closed {
            path: at.to_owned(),
            source: error.into(),
        },
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;
    use std::os::unix::fs::symlink;

    use cap_std::ambient_authority;

    use super::*;

    fn refused(path: &Path) -> BoundError {
        Bound::to(path).unwrap_err()
    }

    #[test]
    fn paths_that_are_no_folder_are_refused_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("real/inner")).unwrap();
        fs::write(at("file"), "").unwrap();
        symlink(at("real"), at("link")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("fifo"), Mode::from_raw_mode(0o600)).unwrap();
        assert!(matches!(refused(Path::new("srv")), BoundError::Relative));
        assert!(matches!(refused(&at("real/../real")), BoundError::Dots));
        assert!(matches!(refused(&at("file")), BoundError::NotFolder(_)));
        assert!(matches!(refused(&at("fifo")), BoundError::NotFolder(_)));
        assert!(matches!(refused(&at("file/x")), BoundError::NotFolder(_)));
        assert!(matches!(refused(&at("link")), BoundError::Link(_)));
        assert!(matches!(refused(&at("link/inner")), BoundError::Link(_)));
        assert!(matches!(refused(&at("none")), BoundError::Missing(_)));
        assert!(matches!(refused(Path::new("/a\0b")), BoundError::Nul));
        let long = format!("/{}", "a/".repeat(2_500));
        assert!(matches!(refused(Path::new(&long)), BoundError::TooLong(_)));
        let bound = Bound::to(&at("real/./inner/")).unwrap();
        assert_eq!(bound.path, at("real/inner"));
    }

    #[test]
    fn only_the_folder_that_was_bound_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("a/web")).unwrap();
        let bound = Bound::to(&at("a/web")).unwrap();
        assert!(bound.open().is_ok());
        // The parent is replaced with a link to where it is now.
        fs::rename(at("a"), at("b")).unwrap();
        symlink("b", at("a")).unwrap();
        assert!(matches!(bound.open().unwrap_err(), BoundError::Link(_)));
        fs::remove_file(at("a")).unwrap();
        assert!(matches!(bound.open().unwrap_err(), BoundError::Missing(_)));
        fs::create_dir_all(at("a/web")).unwrap();
        assert!(matches!(bound.open().unwrap_err(), BoundError::Replaced(_)));
        fs::remove_dir_all(at("a")).unwrap();
        fs::rename(at("b"), at("a")).unwrap();
        assert!(bound.open().is_ok());
    }

    fn named(path: Option<&Path>) -> String {
        serde_json::json!({ "workspace": path }).to_string()
    }

    #[test]
    fn agent_json_decides_which_of_the_folders_is_used() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["agent", "one", "two"] {
            fs::create_dir(at(name)).unwrap();
        }
        let agent = Dir::open_ambient_dir(at("agent"), ambient_authority()).unwrap();
        let name = |path: Option<&Path>| fs::write(at("agent/agent.json"), named(path));
        let used = || Bound::of(&agent).map(|bound| bound.map(|bound| bound.path));
        assert_eq!(used().unwrap(), None);
        let [one, two] = ["one", "two"].map(|name| Bound::to(&at(name)).unwrap());
        name(Some(&at("one"))).unwrap();
        assert!(matches!(used(), Err(BoundError::NotBound(_))));
        Bound::change(&agent, Some(&one), || name(Some(&at("one")))).unwrap();
        assert_eq!(used().unwrap(), Some(at("one")));
        // A crash before `agent.json` is written changes nothing.
        let stopped = Bound::change(&agent, Some(&two), || {
            Err::<(), _>(io::Error::other("stop"))
        });
        assert!(stopped.is_err());
        assert_eq!(used().unwrap(), Some(at("one")));
        Bound::change(&agent, Some(&two), || name(Some(&at("two")))).unwrap();
        assert_eq!(used().unwrap(), Some(at("two")));
        // While `agent.json` cannot be read, the folder stays.
        fs::write(at("agent/agent.json"), "{").unwrap();
        assert_eq!(used().unwrap(), Some(at("two")));
        Bound::change(&agent, None, || name(None)).unwrap();
        assert_eq!(used().unwrap(), None);
        assert!(!at("agent").join(NAME).exists());
        fs::write(at("agent").join(NAME), r#"[{"path": "web"}]"#).unwrap();
        assert!(matches!(used(), Err(BoundError::Record(_))));
    }
}
