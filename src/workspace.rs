//! One agent's folder on disk: its `agent.json`, its notes and its working directory.
//!
//! ```text
//! agents/<name>/
//! ├── agent.json     agent_file: read, and rewritten key by key
//! ├── charter.md     charter_file: what describes its role, where it has one
//! ├── docs/          docs: the notes that stand in every request
//! ├── home/          the home of its commands, made by `exec`
//! └── workspace/     jail: what file tools reach, by WorkspacePath; repository: its git; instructions: its AGENTS.md, skills
//! ```
//!
//! Folders are held as open descriptors and paths are resolved beneath them, so that neither `..`, a symbolic link nor a
//! rename in between leads anywhere else.

pub mod agent_file;
pub mod charter_file;
pub mod charter_places;
pub mod decisions;
pub mod docs;
mod error;
pub mod history;
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

pub use error::FileError;
pub use jail::Jail;
pub use path::WorkspacePath;
pub use version::Version;

/// The folder that is the home of an agent's commands. `exec` makes it at the first command; no file tool reaches it.
const HOME: &str = "home";

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

    /// The working directory, as file tools reach it.
    ///
    /// # Errors
    ///
    /// When `workspace/` is not a folder of the agent's own.
    pub fn files(&self) -> Result<Jail, FileError> {
        Jail::open(&self.agent, "workspace")
    }

    /// The notes folder, as file tools reach it.
    ///
    /// # Errors
    ///
    /// When `docs/` is not a folder of the agent's own.
    pub fn docs(&self) -> Result<Jail, FileError> {
        Jail::open(&self.agent, "docs")
    }

    /// The path of the working directory, for child processes that run in it.
    pub fn files_folder(&self) -> PathBuf {
        self.folder.join("workspace")
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
