//! The schema: its files, which of them a database has, and what its tables must be.

use std::path::Path;

use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Row as _, SqlSafeStr as _};

use super::error::StoreError;

/// All files of `migrations/`, in order: version, description, text. Listed here rather than found by sqlx's macro, for
/// which SQLite would be compiled a second time.
const MIGRATIONS: [(i64, &str, &str); 14] = [
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
];

pub(super) async fn migrate(db: &mut SqliteConnection) -> Result<(), StoreError> {
    let steps = MIGRATIONS.map(|(version, description, sql)| {
        let kind = MigrationType::Simple;
        Migration::new(version, description.into(), kind, sql.into_sql_str(), false)
    });
    let migrator = Migrator::with_migrations(steps.into());
    // Not `run`: the compiler cannot prove that its future is `Send`.
    let migrated = migrator.run_direct(None, db, false).await;
    migrated.map_err(|error| match error {
        sqlx::migrate::MigrateError::Execute(error) => error.into(),
        other => StoreError::Query(std::sync::Arc::new(other.into())),
    })
}

pub(super) async fn schema(
    db: &mut SqliteConnection,
) -> Result<Vec<(String, String, String)>, StoreError> {
    let rows = sqlx::query(
        "SELECT type, name, coalesce(sql, '') AS sql FROM sqlite_schema ORDER BY type, name",
    )
    .fetch_all(db)
    .await?;
    rows.iter()
        .map(|row| {
            Ok((
                row.try_get("type")?,
                row.try_get("name")?,
                row.try_get("sql")?,
            ))
        })
        .collect()
}

pub(super) async fn expected_schema() -> Result<Vec<(String, String, String)>, StoreError> {
    let mut model = SqliteConnectOptions::new()
        .in_memory(true)
        .disable_statement_logging()
        .connect()
        .await?;
    migrate(&mut model).await?;
    schema(&mut model).await
}

/// The newest migration applied. None applied, or an interrupted one, can only be damage: a database is made whole.
pub(super) async fn version(db: &mut SqliteConnection, path: &Path) -> Result<i64, StoreError> {
    let newest: Result<Option<i64>, sqlx::Error> =
        sqlx::query_scalar("SELECT max(version) FROM _sqlx_migrations WHERE success")
            .fetch_one(db)
            .await;
    let damaged = |reason: String| StoreError::Damaged {
        path: path.to_owned(),
        reason,
    };
    match newest {
        Ok(Some(version)) => Ok(version),
        Ok(None) => Err(damaged("it names no schema version".to_owned())),
        Err(error) => match StoreError::from(error) {
            StoreError::Query(error) => Err(damaged(error.to_string())),
            other => Err(other),
        },
    }
}

pub(super) fn newest() -> i64 {
    MIGRATIONS
        .iter()
        .map(|(version, ..)| *version)
        .max()
        .unwrap_or(0)
}
