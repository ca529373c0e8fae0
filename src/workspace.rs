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
//! Folders are held as open descriptors and paths are resolved beneath them, so that neither `..`, a symbolic link nor a
//! rename in between leads anywhere else.

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

/// The folder that is the home of an agent's commands. `exec` makes it at the first command; no file tool reaches it.
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
    /// When it does not exist or cannot be read.
    pub fn open(folder: &Path) -> io::Result<Self> {
        Ok(Self {
            folder: folder.to_owned(),
            agent: Dir::open_ambient_dir(folder, ambient_authority())?,
        })
    }

    /// The path of the folder, for messages and for child processes; never to open files below it by name.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The agent's folder itself: `agent.json` and other files of the daemon.
    pub fn agent(&self) -> &Dir {
        &self.agent
    }

    /// The working directory, as file tools reach it: the folder that the agent is bound to, else its own. Every use of a working
    /// directory goes through here.
    ///
    /// # Errors
    ///
    /// When the folder it is bound to is missing or another one, or `workspace/` is not a folder of the agent's own.
    pub fn files(&self) -> Result<Jail, FileError> {
        match self.bound()? {
            Some(bound) => Ok(Jail::of(bound.open()?)),
            None => Jail::open(&self.agent, OWN),
        }
    }

    /// The folder that the agent is bound to; `None` where it works in its own.
    ///
    /// # Errors
    ///
    /// When the file that says so cannot be used.
    pub fn bound(&self) -> Result<Option<Bound>, BoundError> {
        Bound::of(&self.agent)
    }

    /// The notes folder, as file tools reach it.
    ///
    /// # Errors
    ///
    /// When `docs/` is not a folder of the agent's own.
    pub fn docs(&self) -> Result<Jail, FileError> {
        Jail::open(&self.agent, "docs")
    }

    /// The path of the working directory, for child processes that run in it. They compare it with [`Workspace::files`].
    ///
    /// # Errors
    ///
    /// When the file that says which it is cannot be used.
    pub fn files_folder(&self) -> Result<PathBuf, FileError> {
        Ok(match self.bound()? {
            Some(bound) => bound.path,
            None => self.own_files_folder(),
        })
    }

    /// The path of the agent's own working directory, in which it works unless it is bound to a folder.
    pub fn own_files_folder(&self) -> PathBuf {
        self.folder.join(OWN)
    }

    /// The home of the agent's commands.
    ///
    /// # Errors
    ///
    /// When it is not there yet, or is not a folder of the agent's own.
    pub fn home(&self) -> Result<Jail, FileError> {
        Jail::open(&self.agent, HOME)
    }

    /// The path of the home of the agent's commands, which may not be there yet.
    pub fn home_folder(&self) -> PathBuf {
        self.folder.join(HOME)
    }
}
