//! Why the database could not carry out a request.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sqlx::migrate::MigrateError;

/// The database's path within the home, for messages that do not know the home.
const DATABASE_FILE: &str = "db/chorus.db";

/// Why the database could not carry out a request.
///
/// Cloned, because all jobs of a transaction get its error.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk refused it; nothing of it was stored. The next call tries again.
    #[error("nothing was stored: {fault} ({detail})")]
    Disk {
        /// The fault of the disk.
        fault: DiskFault,
        /// SQLite's or the system's own words.
        detail: String,
    },
    /// The database was damaged after it was written.
    #[error(
        "the database {} is damaged: {reason}. It was left as it is: keep a copy, then put a backup in its place (`chorus restore`)",
        path.display()
    )]
    Damaged { path: PathBuf, reason: String },
    /// One row cannot be read; the others are not affected.
    #[error(
        "the database holds something unreadable in {what}: {reason}; a backup may have it as it was (`chorus restore`)"
    )]
    BadRow {
        /// The column or value.
        what: String,
        reason: String,
    },
    /// A later version of Chorus has written it.
    #[error(
        "the database {} has schema version {found}, this program knows up to {known}. It was left as it is: run the newer Chorus, or restore the backup made before the upgrade",
        path.display()
    )]
    Newer {
        path: PathBuf,
        /// Its schema version.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// It is a database, but not one of ours.
    #[error(
        "{} is not a database of this program ({reason}). It was left as it is: use another CHORUS_HOME, or `chorus migrate-home` for a home of the Python original",
        path.display()
    )]
    Foreign { path: PathBuf, reason: String },
    /// Another daemon uses this home.
    #[error("another Chorus{} works on {}: stop it first, or set another CHORUS_HOME", pid.map(|pid| format!(" (process {pid})")).unwrap_or_default(), home.display())]
    Locked {
        home: PathBuf,
        /// The other process, if it left its number.
        pid: Option<u32>,
    },
    /// The home, or a file that belongs there, cannot be created or opened.
    #[error(
        "{} cannot be used: {reason}; let this user write there, or set another CHORUS_HOME",
        path.display()
    )]
    Home { path: PathBuf, reason: String },
    /// The SQLite this program was built with has the WAL-reset corruption.
    #[error("SQLite {found} can corrupt its write-ahead log; 3.51.3 or later is needed")]
    OldSqlite { found: String },
    /// The named object does not exist.
    #[error("there is no {0}")]
    NotFound(String),
    /// The store was closed; the daemon is stopping.
    #[error("the database is closed: the daemon is stopping")]
    Closed,
    /// The work with it panicked. Nothing of it was stored.
    #[error("the program broke off while it used the database; its log says where")]
    Broken,
    /// SQLite refused for another reason: a mistake in this program.
    #[error("the database refused: {0}")]
    Query(Arc<sqlx::Error>),
}

/// A word in a column that this program never writes there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown word `{0}`")]
pub struct UnknownWord(pub String);

/// The fault of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskFault {
    Full,
    ReadOnly,
    /// It reports errors.
    Io,
}

impl std::fmt::Display for DiskFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Full => "the disk is full",
            Self::ReadOnly => "the disk is read-only",
            Self::Io => "the disk reports errors",
        })
    }
}

impl StoreError {
    /// Creates the error for a row that cannot be read.
    pub(super) fn bad_row(what: &str, reason: impl std::fmt::Display) -> Self {
        Self::BadRow {
            what: what.to_owned(),
            reason: reason.to_string(),
        }
    }

    /// Creates the error for a damaged database; [`Self::at`] adds its path.
    pub(super) fn damaged(reason: impl Into<String>) -> Self {
        Self::Damaged {
            path: PathBuf::from(DATABASE_FILE),
            reason: reason.into(),
        }
    }

    /// Returns the same error with the database's full path, if it names the file.
    pub(super) fn at(self, database: &Path) -> Self {
        match self {
            Self::Damaged { reason, .. } => Self::Damaged {
                path: database.to_owned(),
                reason,
            },
            other => other,
        }
    }

    /// Returns whether SQLite has rolled back the whole transaction, not only the statement.
    pub(super) const fn ends_transaction(&self) -> bool {
        matches!(
            self,
            Self::Disk { .. } | Self::Damaged { .. } | Self::Closed
        )
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        use sqlx::Error;
        match &error {
            Error::Database(refusal) => {
                let code = refusal.code().and_then(|code| code.parse().ok());
                let detail = refusal.message().to_owned();
                code.and_then(|code| of_code(code, detail))
                    .unwrap_or_else(|| Self::Query(Arc::new(error)))
            }
            Error::ColumnDecode { index, source } => Self::bad_row(index.trim_matches('"'), source),
            Error::Decode(source) => Self::bad_row("a column", source),
            Error::PoolClosed | Error::WorkerCrashed => Self::Closed,
            _ => Self::Query(Arc::new(error)),
        }
    }
}

impl From<MigrateError> for StoreError {
    fn from(error: MigrateError) -> Self {
        match error {
            MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => error.into(),
            MigrateError::VersionMismatch(version) => Self::damaged(format!(
                "its migration {version} is another than this program's"
            )),
            other => Self::damaged(other.to_string()),
        }
    }
}

/// Reads those of SQLite's result codes that a caller acts on; the lowest byte of an extended code is the primary one.
fn of_code(code: i32, detail: String) -> Option<StoreError> {
    const READ_ONLY: i32 = 8;
    const IO: i32 = 10;
    const CORRUPT: i32 = 11;
    const FULL: i32 = 13;
    const CANNOT_OPEN: i32 = 14;
    const NOT_A_DATABASE: i32 = 26;
    let fault = match code & 0xff {
        FULL => DiskFault::Full,
        READ_ONLY => DiskFault::ReadOnly,
        IO | CANNOT_OPEN => DiskFault::Io,
        CORRUPT | NOT_A_DATABASE => return Some(StoreError::damaged(detail)),
        _ => return None,
    };
    Some(StoreError::Disk { fault, detail })
}
