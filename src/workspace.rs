//! One agent's folder on disk: its `agent.json`, its notes and its working directory.
//!
//! ```text
//! agents/<name>/
//! ├── agent.json     agent_file: read, and rewritten key by key
//! ├── charter.md     charter_file: what describes its role, where it has one
//! ├── docs/          docs: the notes that stand in every request
//! ├── home/          the home of its commands, made by `exec`
//! ├── workspace/     jail: what file tools reach, by WorkspacePath; repository: its git; instructions: its AGENTS.md, skills
//! └── bound.json     bound: the folder elsewhere that it works in instead of `workspace/`, where it has one
//! ```
//!
//! Folders are kept as open descriptors and paths are resolved beneath them, so that `..`, a symbolic link or a rename
//! in between cannot lead elsewhere.

pub mod agent_file;
mod attributes;
pub mod bound;
pub mod charter_file;
pub mod charter_places;
pub mod decisions;
pub mod docs;
mod error;
pub mod history;
mod identity;
pub mod instructions;
pub mod jail;
pub mod locks;
mod path;
mod place;
pub mod regular_file;
pub mod repository;
pub mod size;
pub mod template;
mod version;
pub mod walk;

use std::io;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

pub use bound::{Bound, BoundError};
pub use error::FileError;
pub use jail::Jail;
pub use path::WorkspacePath;
pub use version::Version;

/// The home folder of an agent's commands. `exec` creates it at the first command; no file tool reaches it.
const HOME: &str = "home";

/// The folder that is an agent's own working directory.
const OWN: &str = "workspace";

/// The open folder of one agent.
#[derive(Debug)]
pub struct Workspace {
    folder: PathBuf,
    agent: Dir,
}

impl Workspace {
    /// Opens the agent's folder.
    ///
    /// # Errors
    ///
    /// Fails if it does not exist or cannot be read.
    pub fn open(folder: &Path) -> io::Result<Self> {
        Ok(Self {
            folder: folder.to_owned(),
            agent: Dir::open_ambient_dir(folder, ambient_authority())?,
        })
    }

    /// Returns the path of the folder, for messages and for child processes; never to open files below it by name.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the agent's folder itself: `agent.json` and other files of the daemon.
    pub fn agent(&self) -> &Dir {
        &self.agent
    }

    /// Returns the working directory, as file tools reach it: the folder that the agent is bound to, or its own. Every
    /// use of a working directory goes through here.
    ///
    /// # Errors
    ///
    /// Fails if the folder it is bound to is missing or was replaced, or `workspace/` is not a folder of the agent's
    /// own.
    pub fn files(&self) -> Result<Jail, FileError> {
        match self.bound()? {
            Some(bound) => Ok(Jail::of(bound.open()?)),
            None => Jail::open(&self.agent, OWN),
        }
    }

    /// Returns the folder that the agent is bound to; `None` if it works in its own.
    ///
    /// # Errors
    ///
    /// Fails if the file with the binding cannot be used.
    pub fn bound(&self) -> Result<Option<Bound>, BoundError> {
        Bound::of(&self.agent)
    }

    /// Returns the notes folder, as file tools reach it.
    ///
    /// # Errors
    ///
    /// Fails if `docs/` is not a folder of the agent's own.
    pub fn docs(&self) -> Result<Jail, FileError> {
        Jail::open(&self.agent, "docs")
    }

    /// Returns the path of the working directory, for child processes that run in it. They compare it with
    /// [`Workspace::files`].
    ///
    /// # Errors
    ///
    /// Fails if the file that names it cannot be used.
    pub fn files_folder(&self) -> Result<PathBuf, FileError> {
        Ok(match self.bound()? {
            Some(bound) => bound.path,
            None => self.own_files_folder(),
        })
    }

    /// Returns the path of the agent's own working directory, in which it works unless it is bound to a folder.
    pub fn own_files_folder(&self) -> PathBuf {
        self.folder.join(OWN)
    }

    /// Returns the home of the agent's commands.
    ///
    /// # Errors
    ///
    /// Fails if it does not exist yet, or is not a folder of the agent's own.
    pub fn home(&self) -> Result<Jail, FileError> {
        Jail::open(&self.agent, HOME)
    }

    /// Returns the path of the home of the agent's commands, which may not exist yet.
    pub fn home_folder(&self) -> PathBuf {
        self.folder.join(HOME)
    }
}
