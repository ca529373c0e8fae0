//! Names the source of a value of the environment.

use std::fmt;
use std::path::PathBuf;

/// Where a variable is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// In the environment of the process.
    Process,
    /// In the file of `--env-file`.
    EnvFile(PathBuf),
    /// In the `.env` of the home.
    HomeDotenv(PathBuf),
}

impl Origin {
    /// Returns the file, unless it is the environment itself.
    pub(super) fn file(&self) -> Option<&PathBuf> {
        match self {
            Self::Process => None,
            Self::EnvFile(path) | Self::HomeDotenv(path) => Some(path),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process => f.write_str("the environment"),
            Self::EnvFile(path) => write!(f, "{} (--env-file)", path.display()),
            Self::HomeDotenv(path) => write!(f, "{} (the home's)", path.display()),
        }
    }
}

/// Where a secret was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// From the variable itself.
    Variable(Origin),
    /// From the file that `<NAME>_FILE` names, which is set there.
    File { path: PathBuf, named_in: Origin },
    /// From systemd's credentials.
    Credential(PathBuf),
}

impl Source {
    /// Returns the file with the secret, unless it is the environment itself.
    pub fn file(&self) -> Option<&PathBuf> {
        match self {
            Self::Variable(origin) => origin.file(),
            Self::File { path, .. } | Self::Credential(path) => Some(path),
        }
    }

    /// Returns whether a service would not find the secret there: it belongs to one start of one program.
    pub fn is_of_this_start(&self) -> bool {
        match self {
            Self::Variable(origin)
            | Self::File {
                named_in: origin, ..
            } => {
                matches!(origin, Origin::Process | Origin::EnvFile(_))
            }
            Self::Credential(_) => false,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(origin) => origin.fmt(f),
            Self::File { path, named_in } => {
                write!(f, "{}, named in {named_in}", path.display())
            }
            Self::Credential(path) => write!(f, "{} (systemd's credentials)", path.display()),
        }
    }
}
