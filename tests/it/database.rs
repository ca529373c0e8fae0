//! Databases that a test opens itself: beside the daemon, before it, or as an earlier program left them.

use std::fs;
use std::path::Path;

use rusqlite::{Connection, Row};
use sha2::{Digest as _, Sha384};

/// Which migrations a database has: the table of sqlx, with which earlier programs were built, word for word.
pub(crate) const APPLIED: &str = "CREATE TABLE _sqlx_migrations (
    version BIGINT PRIMARY KEY,
    description TEXT NOT NULL,
    installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    success BOOLEAN NOT NULL,
    checksum BLOB NOT NULL,
    execution_time BIGINT NOT NULL
)";

/// Opens a database to read and to change it; one that is not there is made.
pub(crate) fn open(path: &Path) -> Connection {
    let db = Connection::open(path).unwrap();
    db.execute_batch("PRAGMA foreign_keys = ON").unwrap();
    db
}

/// What `read` makes of each row that a statement gives.
pub(crate) fn rows<T>(
    db: &Connection,
    sql: &str,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Vec<T> {
    let mut statement = db.prepare(sql).unwrap();
    let rows = statement.query_map([], read).unwrap();
    rows.map(Result::unwrap).collect()
}

/// A file of `migrations/`.
pub(crate) struct Migration {
    pub(crate) version: i64,
    pub(crate) description: String,
    pub(crate) sql: String,
}

impl Migration {
    /// How an earlier program knows that it is the file that it knows.
    pub(crate) fn checksum(&self) -> Vec<u8> {
        Sha384::digest(&self.sql).to_vec()
    }
}

/// All files of `migrations/`, in order.
pub(crate) fn migrations() -> Vec<Migration> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
    let mut all: Vec<Migration> = fs::read_dir(folder)
        .unwrap()
        .map(|file| {
            let file = file.unwrap();
            let name = file.file_name().into_string().unwrap();
            let (version, rest) = name.split_once('_').unwrap();
            Migration {
                version: version.parse().unwrap(),
                description: rest.strip_suffix(".sql").unwrap().to_owned(),
                sql: fs::read_to_string(file.path()).unwrap(),
            }
        })
        .collect();
    all.sort_by_key(|one| one.version);
    all
}

/// Makes a database of schema version `version`, as the program of that time did, and leaves it open.
pub(crate) fn earlier(path: &Path, version: i64) -> Connection {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut db = open(path);
    let ours = "PRAGMA application_id = 0x43686f72; PRAGMA journal_mode = WAL";
    db.execute_batch(&format!("{ours}; {APPLIED}")).unwrap();
    for one in migrations() {
        if one.version > version {
            break;
        }
        let step = db.transaction().unwrap();
        step.execute_batch(&one.sql).unwrap();
        step.execute(
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES (?, ?, TRUE, ?, -1)",
            (one.version, &one.description, one.checksum()),
        )
        .unwrap();
        step.commit().unwrap();
    }
    db
}
