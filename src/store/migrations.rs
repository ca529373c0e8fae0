//! The schema: the migrations of a database, and its required tables.

use std::path::Path;

use sqlx::migrate::Migrator;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use sqlx::{ConnectOptions as _, Connection as _, Row as _, SqliteConnection};

use super::error::StoreError;
use super::statement::{scalar, sql};

/// All files of `migrations/`. Which of them a database has is in its table `_sqlx_migrations`.
static MIGRATOR: Migrator = sqlx::migrate!("./migrations");

/// Opens a database and applies the missing migrations, each in a separate transaction.
///
/// The migrator gets a pool of one connection. With a borrowed connection the compiler cannot show that the future may be
/// sent to another thread.
pub(super) async fn migrated(
    options: SqliteConnectOptions,
) -> Result<SqliteConnection, StoreError> {
    let pool = SqlitePoolOptions::new().max_connections(1);
    let pool = pool.connect_with(options).await?;
    MIGRATOR.run(&pool).await?;
    Ok(pool.acquire().await?.detach())
}

/// The type, name and SQL of an object in the schema.
pub(super) type Made = (String, String, String);

/// Returns everything that the migrations create.
pub(super) async fn schema(db: &mut SqliteConnection) -> Result<Vec<Made>, StoreError> {
    // No macro knows the tables of SQLite itself.
    sql("SELECT type, name, coalesce(sql, '') FROM sqlite_schema ORDER BY type, name")
        .all(db, |row| {
            Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?))
        })
        .await
}

pub(super) async fn expected_schema() -> Result<Vec<Made>, StoreError> {
    let options = SqliteConnectOptions::new()
        .in_memory(true)
        .disable_statement_logging();
    let mut model = migrated(options).await?;
    let expected = schema(&mut model).await?;
    model.close().await?;
    Ok(expected)
}

/// Returns the newest migration applied. None applied, or an interrupted one, can only be damage: a database is created
/// completely.
pub(super) async fn version(db: &mut SqliteConnection, path: &Path) -> Result<i64, StoreError> {
    // The table belongs to the migrator: it is in no file of `migrations/`, so no macro knows it.
    let newest = sql("SELECT max(version) FROM _sqlx_migrations WHERE success");
    let damaged = |reason: String| StoreError::damaged(reason).at(path);
    match newest.one(db, scalar).await {
        Ok(Some(version)) => Ok(version),
        Ok(None) => Err(damaged("it names no schema version".to_owned())),
        Err(StoreError::Query(error)) => Err(damaged(error.to_string())),
        Err(other) => Err(other),
    }
}

pub(super) fn newest() -> i64 {
    MIGRATOR
        .iter()
        .map(|migration| migration.version)
        .max()
        .unwrap_or(0)
}
