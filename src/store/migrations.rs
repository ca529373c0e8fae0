//! The schema: its files, which of them a database has, and what its tables must be.

use std::path::Path;
use std::time::Instant;

use rusqlite::Connection;
use sha2::{Digest as _, Sha384};

use super::codec::count;
use super::error::StoreError;
use super::statement::{scalar, sql};

/// Which migrations a database has. Name and columns are those of sqlx, which earlier versions were built with: a home can
/// go back to one that knows its schema.
const APPLIED: &str = "CREATE TABLE IF NOT EXISTS _sqlx_migrations (
    version BIGINT PRIMARY KEY,
    description TEXT NOT NULL,
    installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    success BOOLEAN NOT NULL,
    checksum BLOB NOT NULL,
    execution_time BIGINT NOT NULL
)";

/// All files of `migrations/`, in order: version, description, text.
const MIGRATIONS: [(i64, &str, &str); 15] = [
    (
        1,
        "ledger",
        include_str!("../../migrations/0001_ledger.sql"),
    ),
    (
        2,
        "servers",
        include_str!("../../migrations/0002_servers.sql"),
    ),
    (
        3,
        "saved_as",
        include_str!("../../migrations/0003_saved_as.sql"),
    ),
    (4, "audit", include_str!("../../migrations/0004_audit.sql")),
    (
        5,
        "lifecycle",
        include_str!("../../migrations/0005_lifecycle.sql"),
    ),
    (
        6,
        "fewer_pages",
        include_str!("../../migrations/0006_fewer_pages.sql"),
    ),
    (7, "runs", include_str!("../../migrations/0007_runs.sql")),
    (
        8,
        "fewer_indices",
        include_str!("../../migrations/0008_fewer_indices.sql"),
    ),
    (9, "seed", include_str!("../../migrations/0009_seed.sql")),
    (10, "spent", include_str!("../../migrations/0010_spent.sql")),
    (
        11,
        "looking_at_runs",
        include_str!("../../migrations/0011_looking_at_runs.sql"),
    ),
    (
        12,
        "thread_words",
        include_str!("../../migrations/0012_thread_words.sql"),
    ),
    (
        13,
        "words_that_pass",
        include_str!("../../migrations/0013_words_that_pass.sql"),
    ),
    (
        14,
        "fewer_bytes",
        include_str!("../../migrations/0014_fewer_bytes.sql"),
    ),
    (
        15,
        "causes",
        include_str!("../../migrations/0015_causes.sql"),
    ),
];

/// Applies what `db` lacks, each migration in a transaction of its own.
pub(super) fn migrate(db: &mut Connection) -> Result<(), StoreError> {
    db.execute_batch(APPLIED)?;
    for (version, description, text) in MIGRATIONS {
        let checksum = Sha384::digest(text).to_vec();
        match applied(db, version)? {
            None => apply(db, version, description, text, &checksum)?,
            Some(known) if known == checksum => {}
            Some(_) => {
                return Err(StoreError::damaged(format!(
                    "its migration {version} is another than this program's"
                )));
            }
        }
    }
    Ok(())
}

/// The checksum of a migration that was applied.
fn applied(db: &Connection, version: i64) -> Result<Option<Vec<u8>>, StoreError> {
    sql("SELECT checksum FROM _sqlx_migrations WHERE version = ?")
        .bind(version)
        .first(db, scalar)
}

fn apply(
    db: &mut Connection,
    version: i64,
    description: &str,
    text: &str,
    checksum: &[u8],
) -> Result<(), StoreError> {
    let began = Instant::now();
    let transaction = db.transaction()?;
    transaction.execute_batch(text)?;
    sql("INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES (?, ?, TRUE, ?, ?)")
        .bind(version)
        .bind(description)
        .bind(checksum)
        .bind(count(began.elapsed().as_nanos() as u64))
        .execute(&transaction)?;
    Ok(transaction.commit()?)
}

/// Type, name and SQL of everything that the migrations make.
pub(super) fn schema(db: &Connection) -> Result<Vec<(String, String, String)>, StoreError> {
    sql("SELECT type, name, coalesce(sql, '') FROM sqlite_schema ORDER BY type, name")
        .all(db, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
}

pub(super) fn expected_schema() -> Result<Vec<(String, String, String)>, StoreError> {
    let mut model = Connection::open_in_memory()?;
    migrate(&mut model)?;
    schema(&model)
}

/// The newest migration applied. None applied, or an interrupted one, can only be damage: a database is made whole.
pub(super) fn version(db: &Connection, path: &Path) -> Result<i64, StoreError> {
    let newest = sql("SELECT max(version) FROM _sqlx_migrations WHERE success");
    let damaged = |reason: String| StoreError::damaged(reason).at(path);
    match newest.one(db, scalar) {
        Ok(Some(version)) => Ok(version),
        Ok(None) => Err(damaged("it names no schema version".to_owned())),
        Err(StoreError::Query(error)) => Err(damaged(error.to_string())),
        Err(other) => Err(other),
    }
}

pub(super) fn newest() -> i64 {
    MIGRATIONS
        .iter()
        .map(|(version, ..)| *version)
        .max()
        .unwrap_or(0)
}
