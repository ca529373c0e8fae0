//! Why the environment cannot be used.

use std::path::PathBuf;

use super::dotenv::DotenvFault;
use super::trust::Fault;

/// Why the environment cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum EnvError {
    /// A value is invalid.
    #[error("{name} is {value:?}: {expected}")]
    Invalid {
        name: String,
        /// Its value; never a secret's.
        value: String,
        /// What to write instead.
        expected: &'static str,
    },
    /// A file that should contain a value cannot be read.
    #[error("{} ({name}) cannot be read: {source}", path.display())]
    Unreadable {
        /// The purpose of the file.
        name: String,
        path: PathBuf,
        source: std::io::Error,
    },
    /// A file of variables cannot be parsed.
    #[error("{}{fault}", path.display())]
    Dotenv { path: PathBuf, fault: DotenvFault },
    /// A file may not supply configuration.
    #[error("{} is not read: {fault}", path.display())]
    Untrusted { path: PathBuf, fault: Fault },
    /// A file sets a variable that only other places may set.
    #[error("{} sets {name}, which no file of --env-file may set: set it {instead}", path.display())]
    Forbidden {
        name: String,
        path: PathBuf,
        /// Where it may be set.
        instead: &'static str,
    },
    /// Neither `CHORUS_HOME` nor `HOME` is set.
    #[error(
        "there is no home directory: set CHORUS_HOME to the directory Chorus may keep its files in"
    )]
    NoHome,
}
