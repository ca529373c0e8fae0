//! Opens the database: creates it completely or not at all, checks it when in doubt, upgrades it after a copy, or
//! refuses it without changes.

use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::panic;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, SqliteConnection, query_scalar};
use tracing::{info, warn};

use super::error::StoreError;
use super::migrations::{expected_schema, migrated, newest, schema, version};
use super::statement::{Found, checked, scalar, sql};

/// Marks a SQLite file as ours: `Chor` in ASCII.
const APPLICATION_ID: i32 = 0x4368_6f72;

/// The first SQLite without the WAL-reset corruption.
const OLDEST_SQLITE: [u32; 3] = [3, 51, 3];

/// How long a connection waits for another's lock. Only a backup by another program ever has one.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Statements kept prepared per connection: those in constant use.
const PREPARED: usize = 96;

/// Bytes of a page. A turn changes a little in many places, and each change writes its whole page.
const PAGE: u32 = 512;

/// Size of the log in pages at which it is written back into the database: a page that changes with each turn is then
/// written back only once for many turns.
const CHECKPOINT: i64 = 32_768;

/// Bytes that the log keeps on the disk after it was written back.
const KEPT_LOG: i64 = 64 * 1024 * 1024;

/// The rights of a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Create,
    Write,
    Read,
}

/// Opens `path` for writing, or returns why it must not be opened.
pub(super) async fn open(path: &Path) -> Result<SqliteConnection, StoreError> {
    match on_disk(path, look).await? {
        OnDisk::Nothing => create(path).await?,
        OnDisk::Database { in_order } => inspect(path, in_order).await?,
    }
    let writer = connect_writer(path).await?;
    let writer = upgraded(writer, path).await?;
    on_disk(path, forget_closed).await?;
    Ok(writer)
}

/// Runs `work`, which reads files, on a thread that may wait for the disk.
///
/// Boxed, so that the caller's future does not contain a function over any lifetime: see [`super::statement::Found`].
fn on_disk<T: Send + 'static>(
    path: &Path,
    work: impl FnOnce(&Path) -> Result<T, StoreError> + Send + 'static,
) -> Found<'static, T> {
    let path = path.to_owned();
    let work = tokio::task::spawn_blocking(move || work(&path));
    Box::pin(async move {
        match work.await {
            Ok(done) => done,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => panic::resume_unwind(panic),
                Err(_) => Err(StoreError::Closed),
            },
        }
    })
}

/// Opens the connection that writes.
pub(super) async fn connect_writer(path: &Path) -> Result<SqliteConnection, StoreError> {
    Ok(writer_options(path).connect().await?)
}

fn writer_options(path: &Path) -> SqliteConnectOptions {
    options(path, Access::Write)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .pragma("wal_autocheckpoint", CHECKPOINT.to_string())
        .pragma("journal_size_limit", KEPT_LOG.to_string())
}

/// Returns the options of each connection.
pub(super) fn options(path: &Path, access: Access) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(access == Access::Create)
        .read_only(access == Access::Read)
        .busy_timeout(BUSY_TIMEOUT)
        .statement_cache_capacity(PREPARED)
        .foreign_keys(true)
        .pragma("trusted_schema", "OFF")
        .pragma("cell_size_check", "ON")
        .disable_statement_logging()
}

/// The kind of file at the path.
enum OnDisk {
    Nothing,
    Database { in_order: bool },
}

fn look(path: &Path) -> Result<OnDisk, StoreError> {
    let damaged = |reason: &str| StoreError::Damaged {
        path: path.to_owned(),
        reason: reason.to_owned(),
    };
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return match fs::metadata(beside(path, "-wal")) {
                Ok(log) if log.len() > 0 => Err(damaged(
                    "its write-ahead log is there, the database itself is missing",
                )),
                _ => Ok(OnDisk::Nothing),
            };
        }
        Err(error) => return Err(unusable(path, &error)),
    };
    if !metadata.is_file() {
        return Err(damaged("it is not a regular file"));
    }
    if metadata.len() == 0 {
        return Err(damaged("it is empty"));
    }
    Ok(OnDisk::Database {
        in_order: closed_in_order(path, &metadata),
    })
}

/// Creates a new database under a temporary name and moves it into place when it is complete, so that a crash leaves
/// either nothing or a database.
async fn create(path: &Path) -> Result<(), StoreError> {
    let unfinished = on_disk(path, make_room).await?;
    let options = options(&unfinished, Access::Create)
        .page_size(PAGE)
        .journal_mode(SqliteJournalMode::Delete)
        .synchronous(SqliteSynchronous::Full)
        .pragma("application_id", APPLICATION_ID.to_string());
    let mut db = options.connect().await?;
    assert_version(&mut db).await?;
    db.close().await?;
    migrated(options).await?.close().await?;
    on_disk(path, move |path| put_in_place(&unfinished, path)).await?;
    info!("made the database {}", path.display());
    Ok(())
}

/// Moves a complete file to its name.
fn put_in_place(unfinished: &Path, path: &Path) -> Result<(), StoreError> {
    fs::rename(unfinished, path)
        .and_then(|()| sync_folder(path))
        .map_err(|error| unusable(path, &error))
}

/// Creates the folder of a new database, removes the remains of an earlier attempt, and returns the temporary name.
fn make_room(path: &Path) -> Result<PathBuf, StoreError> {
    if let Some(folder) = path.parent() {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(|error| unusable(folder, &error))?;
    }
    let unfinished = beside(path, ".new");
    for leftover in [unfinished.clone(), beside(&unfinished, "-journal")] {
        match fs::remove_file(&leftover) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(unusable(&leftover, &error));
            }
            _ => {}
        }
    }
    Ok(unfinished)
}

/// How much of a database is read before it is trusted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// Its owner and its version.
    Shallow,
    Whole,
}

pub(super) async fn connect_read_only(path: &Path) -> Result<SqliteConnection, StoreError> {
    // Without a log no process uses it, and it can be read without side effects: SQLite would leave an empty log behind.
    let is_at_rest = on_disk(path, |path| {
        let logs = ["-wal", "-journal"];
        Ok(logs.iter().all(|log| !beside(path, log).exists()))
    });
    let options = options(path, Access::Read).immutable(is_at_rest.await?);
    Ok(options.connect().await?)
}

/// Checks a database that another process may be using.
pub(super) async fn judge_read_only(path: &Path, depth: Depth) -> Result<(), StoreError> {
    match on_disk(path, look).await? {
        OnDisk::Nothing => Err(StoreError::NotFound(format!("database {}", path.display()))),
        OnDisk::Database { .. } => inspect(path, depth == Depth::Shallow)
            .await
            .map_err(|error| error.at(path)),
    }
}

/// Checks a database without being able to change it.
async fn inspect(path: &Path, in_order: bool) -> Result<(), StoreError> {
    let mut db = connect_read_only(path).await?;
    let judged = judge(&mut db, path, in_order).await;
    db.close().await?;
    judged
}

async fn judge(db: &mut SqliteConnection, path: &Path, in_order: bool) -> Result<(), StoreError> {
    assert_version(db).await?;
    let foreign = |reason: String| StoreError::Foreign {
        path: path.to_owned(),
        reason,
    };
    // No macro describes a pragma.
    let application: i32 = sql("PRAGMA application_id").one(db, scalar).await?;
    if application != APPLICATION_ID {
        return Err(foreign(format!(
            "its application id is {application}, ours is {APPLICATION_ID}"
        )));
    }
    let found = version(db, path).await?;
    let known = newest();
    if found > known {
        return Err(StoreError::Newer {
            path: path.to_owned(),
            found,
            known,
        });
    }
    if in_order {
        return Ok(());
    }
    info!(
        "checking {} after a stop that was not in order",
        path.display()
    );
    check(db, path, found).await
}

/// Reads the whole file and compares its tables with those that the migrations create.
async fn check(db: &mut SqliteConnection, path: &Path, version: i64) -> Result<(), StoreError> {
    let damaged = |reason: String| StoreError::Damaged {
        path: path.to_owned(),
        reason,
    };
    // No macro describes a pragma.
    let findings: Vec<String> = sql("PRAGMA quick_check").all(db, scalar).await?;
    for finding in findings.into_iter().filter(|finding| finding != "ok") {
        if !is_of_a_value(&finding) {
            return Err(damaged(finding));
        }
        warn!(
            "{}: {finding}; the row concerned will be left out",
            path.display()
        );
    }
    if version == newest() && schema(db).await? != expected_schema().await? {
        return Err(damaged(format!(
            "its tables are not those of schema version {version}"
        )));
    }
    Ok(())
}

/// Returns whether SQLite found a value that its column does not allow, which affects a row and not the structure of
/// the file.
fn is_of_a_value(finding: &str) -> bool {
    finding.starts_with("CHECK constraint failed in") || finding.contains(" value in ")
}

/// Upgrades an older database, after copying it.
async fn upgraded(mut db: SqliteConnection, path: &Path) -> Result<SqliteConnection, StoreError> {
    let found = version(&mut db, path).await?;
    if found == newest() {
        return Ok(db);
    }
    let copy = beside(path, &format!(".before-{:04}", found + 1));
    let unfinished = beside(&copy, ".new");
    if on_disk(&copy, is_missing).await? {
        vacuum_into(&mut db, &unfinished).await?;
        on_disk(&copy, move |copy| put_in_place(&unfinished, copy)).await?;
    }
    info!(
        "upgrading {} from schema version {found}; a copy is {}",
        path.display(),
        copy.display()
    );
    db.close().await?;
    let mut db = migrated(writer_options(path)).await?;
    resize_pages(&mut db, path).await?;
    Ok(db)
}

/// Checks that there is no copy yet, and removes the remains of an earlier attempt.
fn is_missing(copy: &Path) -> Result<bool, StoreError> {
    let _ = fs::remove_file(beside(copy, ".new"));
    Ok(!copy.exists())
}

/// Gives a database with larger pages our page size. It works with any size: a disk without room for the change does
/// not prevent an upgrade.
async fn resize_pages(db: &mut SqliteConnection, path: &Path) -> Result<(), StoreError> {
    // No macro describes a pragma.
    let found: u32 = sql("PRAGMA page_size").one(db, scalar).await?;
    if found == PAGE {
        return Ok(());
    }
    let rewrite = format!("PRAGMA journal_mode = DELETE; PRAGMA page_size = {PAGE}; VACUUM");
    if let Err(error) = sqlx::raw_sql(AssertSqlSafe(rewrite))
        .execute(&mut *db)
        .await
    {
        warn!(
            "failed to give {} pages of {PAGE} bytes, it goes on with pages of {found}: {error}",
            path.display()
        );
    }
    sql("PRAGMA journal_mode = WAL").rows(db).await.map(drop)
}

/// Copies a database, in the state of one moment, into a new file.
pub(super) async fn vacuum_into(
    db: &mut SqliteConnection,
    target: &Path,
) -> Result<(), StoreError> {
    let name = target.to_str().ok_or_else(|| StoreError::Home {
        path: target.to_owned(),
        reason: "the path is not UTF-8".to_owned(),
    })?;
    // No macro describes it: it is not a query.
    sql("VACUUM INTO ?").bind(name).execute(db).await?;
    on_disk(target, sync).await
}

/// Waits until a file is on the disk.
fn sync(target: &Path) -> Result<(), StoreError> {
    fs::File::open(target)
        .and_then(|file| file.sync_all())
        .map_err(|error| unusable(target, &error))
}

async fn assert_version(db: &mut SqliteConnection) -> Result<(), StoreError> {
    let found: String = checked(query_scalar!("SELECT sqlite_version()"))
        .one(db, scalar)
        .await?;
    let parts: Vec<u32> = found
        .split('.')
        .map_while(|part| part.parse().ok())
        .collect();
    if parts.as_slice() < OLDEST_SQLITE.as_slice() {
        return Err(StoreError::OldSqlite { found });
    }
    Ok(())
}

/// Returns the path `chorus.db` with `suffix`.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn unusable(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Home {
        path: path.to_owned(),
        reason: error.to_string(),
    }
}

fn sync_folder(path: &Path) -> std::io::Result<()> {
    match path.parent() {
        Some(folder) => fs::File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

/// Returns the size and modification time of a cleanly closed database, for the file next to it.
fn stamp(metadata: &fs::Metadata) -> String {
    format!(
        "{} {}.{:09}\n",
        metadata.len(),
        metadata.mtime(),
        metadata.mtime_nsec()
    )
}

fn closed_in_order(path: &Path, metadata: &fs::Metadata) -> bool {
    let log_is_empty = fs::metadata(beside(path, "-wal")).map_or(true, |log| log.len() == 0);
    log_is_empty
        && fs::read_to_string(beside(path, ".closed")).is_ok_and(|text| text == stamp(metadata))
}

/// Records that the database was closed cleanly, so that the next start need not read all of it.
pub(super) async fn mark_closed(path: &Path) {
    let written = on_disk(path, |path| {
        fs::metadata(path)
            .and_then(|metadata| fs::write(beside(path, ".closed"), stamp(&metadata)))
            .map_err(|error| unusable(path, &error))
    });
    if let Err(error) = written.await {
        warn!("failed to note a clean stop; the next start checks the whole database: {error}");
    }
}

fn forget_closed(path: &Path) -> Result<(), StoreError> {
    // If it stays, it can only match a database that has not changed since.
    let _ = fs::remove_file(beside(path, ".closed"));
    Ok(())
}
