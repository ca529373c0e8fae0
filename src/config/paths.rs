//! Paths in the home directory.

use std::path::{Path, PathBuf};

/// The home directory and the names in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// `$CHORUS_HOME`, absolute.
    pub home: PathBuf,
}

impl Paths {
    /// Creates the names below `home`.
    pub fn new(home: impl Into<PathBuf>) -> Self {
        Self { home: home.into() }
    }

    /// Returns the operator's configuration.
    pub fn config(&self) -> PathBuf {
        self.home.join("config.json")
    }

    pub fn database(&self) -> PathBuf {
        self.home.join("db").join("chorus.db")
    }

    /// Returns the folder of all agents.
    pub fn agents(&self) -> PathBuf {
        self.home.join("agents")
    }

    /// Returns one agent's folder. `name` is a valid agent name: that was checked when the agent was registered.
    pub fn agent(&self, name: &str) -> PathBuf {
        self.agents().join(name)
    }

    /// Returns the result of the last model discovery.
    pub fn available_models(&self) -> PathBuf {
        self.home.join("available_models.json")
    }
}

impl AsRef<Path> for Paths {
    fn as_ref(&self) -> &Path {
        &self.home
    }
}
