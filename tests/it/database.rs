//! Databases that a test opens itself: beside the daemon, before it, or as an earlier program left them.

use std::fs;
use std::path::Path;
use std::time::Duration;

use futures_executor::block_on;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha384};
use sqlx::sqlite::{SqliteConnectOptions, SqliteRow};
use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, Decode, FromRow, Row as _, Sqlite,
    SqliteConnection, Type,
};

/// Which migrations a database has: the table of sqlx, with which earlier programs were built, word for word.
pub(crate) const APPLIED: &str = "CREATE TABLE _sqlx_migrations (
    version BIGINT PRIMARY KEY,
    description TEXT NOT NULL,
    installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    success BOOLEAN NOT NULL,
    checksum BLOB NOT NULL,
    execution_time BIGINT NOT NULL
)";

/// How long a test waits for another's lock.
const PATIENCE: Duration = Duration::from_secs(90);

/// A connection of a test, which waits for SQLite where it stands. It is closed when it is dropped.
pub(crate) struct Connection {
    db: Mutex<Option<SqliteConnection>>,
}

impl Connection {
    fn open(options: SqliteConnectOptions) -> Self {
        let options = options.busy_timeout(PATIENCE).disable_statement_logging();
        let db = block_on(options.connect()).unwrap();
        Self {
            db: Mutex::new(Some(db)),
        }
    }

    /// Runs statements one after another.
    pub(crate) fn execute_batch(&self, script: &str) -> sqlx::Result<()> {
        let script = sqlx::raw_sql(AssertSqlSafe(script.to_owned()));
        let mut db = self.db.lock();
        block_on(script.execute(db.as_mut().unwrap())).map(drop)
    }

    /// Returns the first column of the only row that a statement gives.
    pub(crate) fn value<T>(&self, sql: &str) -> sqlx::Result<T>
    where
        T: for<'r> Decode<'r, Sqlite> + Type<Sqlite>,
    {
        let rows = self.select(sql)?;
        rows.first().ok_or(sqlx::Error::RowNotFound)?.try_get(0)
    }

    fn select(&self, sql: &str) -> sqlx::Result<Vec<SqliteRow>> {
        let query = sqlx::query(AssertSqlSafe(sql.to_owned()));
        let mut db = self.db.lock();
        block_on(query.fetch_all(db.as_mut().unwrap()))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(db) = self.db.get_mut().take() {
            let _ = block_on(db.close());
        }
    }
}

/// Opens a database to read and to change it; one that is not there is made.
pub(crate) fn open(path: &Path) -> Connection {
    let options = SqliteConnectOptions::new().filename(path);
    Connection::open(options.create_if_missing(true).foreign_keys(true))
}

/// Opens a database to read it.
pub(crate) fn open_to_read(path: &Path) -> Connection {
    Connection::open(SqliteConnectOptions::new().filename(path).read_only(true))
}

/// The rows that a statement gives.
pub(crate) fn rows<T>(db: &Connection, sql: &str) -> Vec<T>
where
    T: for<'r> FromRow<'r, SqliteRow>,
{
    let rows = db.select(sql).unwrap();
    rows.iter().map(|row| T::from_row(row).unwrap()).collect()
}

/// The first column of the rows that a statement gives.
pub(crate) fn column<T>(db: &Connection, sql: &str) -> Vec<T>
where
    T: for<'r> Decode<'r, Sqlite> + Type<Sqlite>,
{
    let rows = db.select(sql).unwrap();
    rows.iter().map(|row| row.try_get(0).unwrap()).collect()
}

/// The first column of the rows that a statement gives, as SQLite writes it as text.
pub(crate) fn texts(db: &Connection, sql: &str) -> Vec<Option<String>> {
    let rows = db.select(sql).unwrap();
    let text = |row: &SqliteRow| row.try_get_unchecked(0).unwrap();
    rows.iter().map(text).collect()
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
                // As sqlx keeps it.
                description: rest.strip_suffix(".sql").unwrap().replace('_', " "),
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
    let db = open(path);
    let ours = "PRAGMA application_id = 0x43686f72; PRAGMA journal_mode = WAL";
    db.execute_batch(&format!("{ours}; {APPLIED}")).unwrap();
    for one in migrations() {
        if one.version > version {
            break;
        }
        let applied = format!(
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
             VALUES ({}, '{}', TRUE, x'{}', -1)",
            one.version,
            one.description,
            hex(&one.checksum())
        );
        db.execute_batch(&format!("BEGIN; {}; {applied}; COMMIT", one.sql))
            .unwrap();
    }
    db
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
