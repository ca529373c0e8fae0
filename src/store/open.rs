//! Opens the database: makes it whole or not at all, checks it when in doubt, upgrades it after a copy, or refuses it
//! untouched.

use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use tracing::{info, warn};

use super::error::StoreError;
use super::migrations::{expected_schema, migrate, newest, schema, version};
use super::statement::{scalar, sql};

/// Marks a SQLite file as ours: `Chor` in ASCII.
const APPLICATION_ID: i64 = 0x4368_6f72;

/// The first SQLite without the WAL-reset corruption.
const OLDEST_SQLITE: [u32; 3] = [3, 51, 3];

/// How long a connection waits for another's lock. Only a backup by another program ever holds one.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Statements kept prepared per connection: those in constant use.
const PREPARED: usize = 96;

/// Bytes of a page. A turn changes a little in many places, and each change writes its whole page.
const PAGE: u32 = 512;

/// Size of the log in pages at which it is written back into the database: a page that changes with each turn is then
/// written back once for many turns.
const CHECKPOINT: i64 = 32_768;

/// Bytes that the log keeps on the disk once it was written back.
const KEPT_LOG: i64 = 64 * 1024 * 1024;

/// What a connection may do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Create,
    Write,
    Read,
}

/// Opens `path` for writing, or returns why it must not be opened.
pub(super) fn open(path: &Path) -> Result<Connection, StoreError> {
    match look(path)? {
        Found::Nothing => create(path)?,
        Found::Database { in_order } => inspect(path, in_order)?,
    }
    let mut writer = connect_writer(path)?;
    upgrade(&mut writer, path)?;
    forget_closed(path);
    Ok(writer)
}

/// The connection that writes.
pub(super) fn connect_writer(path: &Path) -> Result<Connection, StoreError> {
    let db = connect(path, Access::Write)?;
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "synchronous", "FULL")?;
    db.pragma_update(None, "wal_autocheckpoint", CHECKPOINT)?;
    db.pragma_update(None, "journal_size_limit", KEPT_LOG)?;
    Ok(db)
}

pub(super) fn connect(path: &Path, access: Access) -> Result<Connection, StoreError> {
    let flags = match access {
        Access::Create => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
        Access::Write => OpenFlags::SQLITE_OPEN_READ_WRITE,
        Access::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
    };
    set_up(Connection::open_with_flags(
        path,
        flags | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?)
}

/// What holds for each connection.
fn set_up(db: Connection) -> Result<Connection, StoreError> {
    db.busy_timeout(BUSY_TIMEOUT)?;
    db.set_prepared_statement_cache_capacity(PREPARED);
    db.pragma_update(None, "foreign_keys", true)?;
    db.pragma_update(None, "trusted_schema", false)?;
    db.pragma_update(None, "cell_size_check", true)?;
    Ok(db)
}

/// The address of a database that nobody changes. In front of an absolute path stands an empty host, so that nothing of the path
/// is taken for one.
fn at_rest(path: &str) -> String {
    let host = if path.starts_with('/') { "//" } else { "" };
    let escaped = path
        .replace('%', "%25")
        .replace('?', "%3f")
        .replace('#', "%23");
    format!("file:{host}{escaped}?immutable=1")
}

/// What lies at the path.
enum Found {
    Nothing,
    Database { in_order: bool },
}

fn look(path: &Path) -> Result<Found, StoreError> {
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
                _ => Ok(Found::Nothing),
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
    Ok(Found::Database {
        in_order: closed_in_order(path, &metadata),
    })
}

/// Makes a new database under a temporary name and moves it into place when it is complete, so that a crash leaves either
/// nothing or a database.
fn create(path: &Path) -> Result<(), StoreError> {
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
    let mut db = connect(&unfinished, Access::Create)?;
    assert_version(&db)?;
    db.pragma_update(None, "page_size", PAGE)?;
    db.pragma_update(None, "synchronous", "FULL")?;
    db.pragma_update(None, "application_id", APPLICATION_ID)?;
    migrate(&mut db)?;
    db.close().map_err(|(_, error)| error)?;
    fs::rename(&unfinished, path)
        .and_then(|()| sync_folder(path))
        .map_err(|error| unusable(path, &error))?;
    info!("made the database {}", path.display());
    Ok(())
}

/// How much of a database is read before it is trusted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// Whose it is, and its version.
    Shallow,
    Whole,
}

pub(super) fn connect_read_only(path: &Path) -> Result<Connection, StoreError> {
    // Without a log no process uses it, and it can be read without side effects: SQLite would leave an empty log behind.
    let is_at_rest = ["-wal", "-journal"]
        .iter()
        .all(|log| !beside(path, log).exists());
    match path.to_str() {
        Some(path) if is_at_rest => {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
                | OpenFlags::SQLITE_OPEN_URI
                | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            set_up(Connection::open_with_flags(at_rest(path), flags)?)
        }
        _ => connect(path, Access::Read),
    }
}

/// Checks a database that another process may be using.
pub(super) fn judge_read_only(path: &Path, depth: Depth) -> Result<(), StoreError> {
    match look(path)? {
        Found::Nothing => Err(StoreError::NotFound(format!("database {}", path.display()))),
        Found::Database { .. } => {
            inspect(path, depth == Depth::Shallow).map_err(|error| error.at(path))
        }
    }
}

/// Checks a database without the ability to change it.
fn inspect(path: &Path, in_order: bool) -> Result<(), StoreError> {
    judge(&connect_read_only(path)?, path, in_order)
}

fn judge(db: &Connection, path: &Path, in_order: bool) -> Result<(), StoreError> {
    assert_version(db)?;
    let foreign = |reason: String| StoreError::Foreign {
        path: path.to_owned(),
        reason,
    };
    let application: i64 = sql("PRAGMA application_id").one(db, scalar)?;
    if application != APPLICATION_ID {
        return Err(foreign(format!(
            "its application id is {application}, ours is {APPLICATION_ID}"
        )));
    }
    let found = version(db, path)?;
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
    check(db, path, found)
}

/// Reads the whole file and compares its tables with what the migrations make.
fn check(db: &Connection, path: &Path, version: i64) -> Result<(), StoreError> {
    let damaged = |reason: String| StoreError::Damaged {
        path: path.to_owned(),
        reason,
    };
    let findings: Vec<String> = sql("PRAGMA quick_check").all(db, scalar)?;
    for finding in findings.into_iter().filter(|finding| finding != "ok") {
        if !is_of_a_value(&finding) {
            return Err(damaged(finding));
        }
        warn!(
            "{}: {finding}; the row concerned will be left out",
            path.display()
        );
    }
    if version == newest() && schema(db)? != expected_schema()? {
        return Err(damaged(format!(
            "its tables are not those of schema version {version}"
        )));
    }
    Ok(())
}

/// Whether SQLite found a value that its column does not allow, which affects a row and not the structure of the file.
fn is_of_a_value(finding: &str) -> bool {
    finding.starts_with("CHECK constraint failed in") || finding.contains(" value in ")
}

/// Upgrades an older database, after making a copy of it.
fn upgrade(db: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let found = version(db, path)?;
    if found == newest() {
        return Ok(());
    }
    let copy = beside(path, &format!(".before-{:04}", found + 1));
    if !copy.exists() {
        let unfinished = beside(&copy, ".new");
        let _ = fs::remove_file(&unfinished);
        vacuum_into(db, &unfinished)?;
        fs::rename(&unfinished, &copy)
            .and_then(|()| sync_folder(&copy))
            .map_err(|error| unusable(&copy, &error))?;
    }
    info!(
        "upgrading {} from schema version {found}; a copy is {}",
        path.display(),
        copy.display()
    );
    migrate(db)?;
    resize_pages(db, path)
}

/// Gives a database with larger pages our page size. It works with any size: a disk without room for the change prevents no
/// upgrade.
fn resize_pages(db: &Connection, path: &Path) -> Result<(), StoreError> {
    let found: u32 = sql("PRAGMA page_size").one(db, scalar)?;
    if found == PAGE {
        return Ok(());
    }
    let rewrite = format!("PRAGMA journal_mode = DELETE; PRAGMA page_size = {PAGE}; VACUUM");
    if let Err(error) = db.execute_batch(&rewrite) {
        warn!(
            "failed to give {} pages of {PAGE} bytes, it goes on with pages of {found}: {error}",
            path.display()
        );
    }
    Ok(db.pragma_update(None, "journal_mode", "WAL")?)
}

/// Copies a database, in the state of one moment, into a new file.
pub(super) fn vacuum_into(db: &Connection, target: &Path) -> Result<(), StoreError> {
    let name = target.to_str().ok_or_else(|| StoreError::Home {
        path: target.to_owned(),
        reason: "the path is not UTF-8".to_owned(),
    })?;
    db.execute("VACUUM INTO ?", [name])?;
    fs::File::open(target)
        .and_then(|file| file.sync_all())
        .map_err(|error| unusable(target, &error))
}

fn assert_version(db: &Connection) -> Result<(), StoreError> {
    let found: String = sql("SELECT sqlite_version()").one(db, scalar)?;
    let parts: Vec<u32> = found
        .split('.')
        .map_while(|part| part.parse().ok())
        .collect();
    if parts.as_slice() < OLDEST_SQLITE.as_slice() {
        return Err(StoreError::OldSqlite { found });
    }
    Ok(())
}

/// `chorus.db` and `suffix`.
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

/// Size and time of change of a database that was closed cleanly, which a file next to it holds.
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

/// Notes that the database was closed cleanly, so that the next start need not read it whole.
pub(super) fn mark_closed(path: &Path) {
    let written = fs::metadata(path)
        .and_then(|metadata| fs::write(beside(path, ".closed"), stamp(&metadata)));
    if let Err(error) = written {
        warn!("failed to note a clean stop; the next start checks the whole database: {error}");
    }
}

fn forget_closed(path: &Path) {
    // If it stays, it can only match a database that has not changed since.
    let _ = fs::remove_file(beside(path, ".closed"));
}
