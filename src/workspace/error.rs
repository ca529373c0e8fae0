//! Errors of reading and writing an agent's files.

use std::io;

use super::bound::BoundError;
use crate::text;

/// Why a file of an agent could not be used. The text is for the model.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The path cannot be in the workspace.
    #[error("`{path}` cannot be used: {reason}")]
    BadPath {
        /// The path as given, shortened.
        path: String,
        reason: String,
    },
    #[error("`{path}` does not exist{hint}")]
    NotFound {
        path: String,
        /// `; did you mean …?`, or nothing.
        hint: String,
    },
    #[error("`{0}` is a folder")]
    IsFolder(String),
    #[error("`{0}` is not a folder")]
    NotFolder(String),
    /// A symbolic link on the way leads out of the folder, or nowhere.
    #[error(
        "`{0}` is a symbolic link, or lies behind one, that leads out of the workspace or nowhere"
    )]
    Outside(String),
    /// A symbolic link leads to another place than the one that was judged.
    #[error("a symbolic link now leads `{path}` to `{reached}`, which was not judged; try again")]
    LeadsElsewhere { path: String, reached: String },
    /// A part of a repository that file tools must not change.
    #[error("`{0}` is protected: it decides what git runs; use the git tools")]
    Protected(String),
    /// Settings of a program.
    #[error(
        "`{0}` cannot be written by a file tool, because programs run what this file names; write it with `bash`, which your \
         permission profile judges"
    )]
    Settings(String),
    /// Writing it would change a file elsewhere, or take it from its owner.
    #[error(
        "`{0}` belongs to another user and has further names, so it cannot be written without changing these"
    )]
    NotOurs(String),
    /// Neither file nor folder.
    #[error("`{path}` is {kind}, not a regular file")]
    Special { path: String, kind: &'static str },
    /// More than is read at once.
    #[error("`{path}` has {}, more than the {} that fit; use the shell for a part of it", text::bytes(*size), text::bytes(*limit))]
    TooLarge { path: String, size: u64, limit: u64 },
    /// The folder that the agent is bound to cannot be used.
    #[error("the workspace cannot be used: {0}. Nothing was created in its place")]
    Bound(#[from] BoundError),
    #[error("`{path}`: {source}")]
    Io { path: String, source: io::Error },
}

impl FileError {
    /// Returns the variant for a system error about `path`.
    pub(super) fn from_io(path: impl ToString, source: io::Error) -> Self {
        let path = path.to_string();
        if source.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
            return Self::Outside(path);
        }
        match source.kind() {
            io::ErrorKind::NotFound => Self::NotFound {
                path,
                hint: String::new(),
            },
            io::ErrorKind::NotADirectory => Self::NotFolder(path),
            io::ErrorKind::IsADirectory => Self::IsFolder(path),
            // cap-std's own refusal of a way out of its folder, without a system call.
            io::ErrorKind::PermissionDenied if source.raw_os_error().is_none() => {
                Self::Outside(path)
            }
            // The kernel's refusal of such a way, by `openat2` with `RESOLVE_BENEATH`.
            io::ErrorKind::CrossesDevices => Self::Outside(path),
            _ => Self::Io { path, source },
        }
    }
}
