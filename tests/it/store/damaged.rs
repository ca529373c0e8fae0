//! Databases that must not be opened: each is refused with its reason and left as it is. And what ours are made of.

use std::fs;
use std::path::{Path, PathBuf};

use chorus::domain::MessageId;
use chorus::store::{HomeLock, Store, StoreError};

use super::{Home, message};
use crate::database::{self, APPLIED, migrations};

/// A sound database with something in it, closed in order.
async fn sound() -> (Home, PathBuf) {
    let home = Home::new().await;
    for id in 1..=200 {
        home.store
            .accept(&message(id, &"text ".repeat(100)))
            .await
            .unwrap();
    }
    home.store.close().await;
    let path = home.store.path().to_owned();
    (home, path)
}

/// Makes a database one of a version that is not there yet.
pub(crate) const FROM_THE_FUTURE: &str =
    "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
     VALUES (9999, 'from the future', 1, x'00', 0)";

/// Changes the database `path`, which nobody has open.
fn changes(path: &Path, how: &str) {
    database::open(path).execute_batch(how).unwrap();
}

/// Opens `path`, which must be refused and stay as it is; gives the refusal.
async fn refused(path: &Path, what: &str) -> StoreError {
    let before = fs::read(path).ok();
    let error = match Store::open(path).await {
        Ok(_) => panic!("{what}: was opened"),
        Err(error) => error,
    };
    assert!(fs::read(path).ok() == before, "{what}: was changed");
    let words = error.to_string();
    assert!(words.contains("chorus.db"), "{what}: {words}");
    error
}

#[tokio::test]
async fn a_new_database_is_made_of_every_file_of_migrations() {
    let (_home, path) = sound().await;
    let db = database::open(&path);
    let applied = "SELECT version, description FROM _sqlx_migrations ORDER BY version";
    let applied: Vec<(i64, String)> = database::rows(&db, applied);
    let files = migrations().into_iter();
    let files: Vec<_> = files.map(|one| (one.version, one.description)).collect();
    assert_eq!(applied, files);
    // An earlier program takes no other words for this table.
    let table = "SELECT sql FROM sqlite_schema WHERE name = '_sqlx_migrations'";
    let table: String = db.value(table).unwrap();
    assert_eq!(table, APPLIED);
}

#[tokio::test]
async fn a_damaged_file_is_refused_and_left_as_it_is() {
    type Damage = fn(&mut Vec<u8>);
    let damages: [(&str, Damage); 19] = [
        ("empty", Vec::clear),
        ("cut to half", |bytes| bytes.truncate(bytes.len() / 2)),
        ("cut within a page", |bytes| {
            bytes.truncate(bytes.len() - 1000)
        }),
        ("cut to its header", |bytes| bytes.truncate(100)),
        ("cut to a few bytes", |bytes| bytes.truncate(10)),
        ("a text file", |bytes| *bytes = b"hello there\n".to_vec()),
        ("all zeros", |bytes| bytes.fill(0)),
        ("its magic overwritten", |bytes| bytes[..16].fill(b'x')),
        ("its page size nonsense", |bytes| {
            bytes[16..18].copy_from_slice(&[0, 3])
        }),
        ("its schema page overwritten", |bytes| {
            bytes[100..4096].fill(0xa5)
        }),
        ("its pages in the middle overwritten", |bytes| {
            let middle = bytes.len() / 2;
            bytes[middle..middle + 8192].fill(0x5a);
        }),
        ("a page in the middle zeroed", |bytes| {
            let middle = bytes.len() / 8192 * 4096;
            bytes[middle..middle + 4096].fill(0);
        }),
        ("its last page zeroed", |bytes| {
            let last = bytes.len() - 4096;
            bytes[last..].fill(0);
        }),
        ("its tail overwritten with another page", |bytes| {
            let last = bytes.len() - 4096;
            bytes.copy_within(4096..8192, last);
        }),
        ("more pages promised than there are", |bytes| {
            bytes[28..32].copy_from_slice(&1_000_000_u32.to_be_bytes());
        }),
        ("its text said to be UTF-16", |bytes| bytes[59] = 2),
        ("a kind of tree that there is not", |bytes| {
            bytes[4096] = 0x77
        }),
        ("of a later format", |bytes| bytes[18..20].fill(9)),
        ("compressed", |bytes| {
            bytes[..4].copy_from_slice(&[0x1f, 0x8b, 8, 0])
        }),
    ];
    for (what, damage) in damages {
        let (_home, path) = sound().await;
        let mut bytes = fs::read(&path).unwrap();
        damage(&mut bytes);
        fs::write(&path, bytes).unwrap();
        let error = refused(&path, what).await;
        assert!(
            matches!(error, StoreError::Damaged { .. }),
            "{what}: {error}"
        );
    }
}

#[tokio::test]
async fn a_database_whose_tables_are_not_ours_is_refused() {
    for (what, sql) in [
        ("a table gone", "DROP TABLE hooks"),
        ("an index gone", "DROP INDEX outbox_waiting"),
        (
            "a trigger added",
            "CREATE TRIGGER t AFTER INSERT ON inbound BEGIN DELETE FROM inbound; END",
        ),
        ("a view added", "CREATE VIEW v AS SELECT * FROM agents"),
        ("a column added", "ALTER TABLE turns ADD COLUMN extra TEXT"),
        ("no version", "DELETE FROM _sqlx_migrations"),
        ("no table of versions", "DROP TABLE _sqlx_migrations"),
    ] {
        let (_home, path) = sound().await;
        changes(&path, sql);
        let error = refused(&path, what).await;
        assert!(
            matches!(error, StoreError::Damaged { .. }),
            "{what}: {error}"
        );
    }
}

#[tokio::test]
async fn a_newer_schema_is_refused_by_number() {
    let (_home, path) = sound().await;
    changes(&path, FROM_THE_FUTURE);
    let error = refused(&path, "newer").await;
    assert!(
        matches!(error, StoreError::Newer { found: 9999, .. }),
        "{error}"
    );
}

#[tokio::test]
async fn a_database_of_another_program_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chorus.db");
    let table = "CREATE TABLE agents (name TEXT PRIMARY KEY, channel_id INTEGER NOT NULL)";
    changes(&path, table);
    let error = refused(&path, "the original's").await;
    assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
    assert!(error.to_string().contains("migrate-home"));
}

#[tokio::test]
async fn a_database_marked_as_another_programs_is_refused() {
    let (_home, path) = sound().await;
    changes(&path, "PRAGMA application_id = 252006674");
    let error = refused(&path, "marked").await;
    assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
}

#[tokio::test]
async fn a_pipe_is_refused_without_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chorus.db");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &path,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    let error = Store::open(&path).await.unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
}

#[tokio::test]
async fn the_log_of_another_database_is_not_taken_in_silently() {
    let (_home, path) = sound().await;
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other.db");
    let db = database::open(&other);
    let secrets = "PRAGMA journal_mode = WAL; CREATE TABLE secrets (name TEXT); INSERT INTO secrets VALUES ('x')";
    db.execute_batch(secrets).unwrap();
    fs::copy(
        folder.path().join("other.db-wal"),
        path.with_file_name("chorus.db-wal"),
    )
    .unwrap();
    let error = refused(&path, "a foreign log").await;
    assert!(
        matches!(
            error,
            StoreError::Damaged { .. } | StoreError::Foreign { .. }
        ),
        "{error}"
    );
}

#[tokio::test]
async fn of_a_log_that_is_cut_what_was_committed_before_the_cut_counts() {
    let home = Home::new().await;
    for id in 1..=50 {
        home.store.accept(&message(id, "hello")).await.unwrap();
    }
    // A copy taken now is what a crash leaves.
    let crashed = tempfile::tempdir().unwrap();
    let files = ["chorus.db", "chorus.db-wal", "chorus.db-shm"];
    let live = home.folder.path().join("db");
    let whole = fs::metadata(live.join("chorus.db-wal")).unwrap().len();
    let mut known = Vec::new();
    for cut in [0, 31, 32, 4000, whole / 2, whole - 4096, whole - 1, whole] {
        for name in files {
            fs::copy(live.join(name), crashed.path().join(name)).unwrap();
        }
        let log = fs::File::options()
            .write(true)
            .open(crashed.path().join("chorus.db-wal"))
            .unwrap();
        log.set_len(cut).unwrap();
        // Whatever the other processes shared is of no use any more.
        fs::write(crashed.path().join("chorus.db-shm"), vec![0xa5; 32_768]).unwrap();
        let store = Store::open(&crashed.path().join("chorus.db"))
            .await
            .unwrap();
        known.push(store.unclaimed().await.unwrap().len());
        store.close().await;
    }
    assert!(known.is_sorted(), "{known:?}");
    assert_eq!((known[0], known.last()), (0, Some(&50)), "{known:?}");
}

#[tokio::test]
async fn what_is_no_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chorus.db");
    fs::create_dir(&path).unwrap();
    assert!(matches!(
        refused(&path, "a folder").await,
        StoreError::Damaged { .. }
    ));
}

#[tokio::test]
async fn a_log_without_its_database_is_not_taken_for_a_fresh_start() {
    let (_home, path) = sound().await;
    fs::remove_file(&path).unwrap();
    fs::write(path.with_file_name("chorus.db-wal"), "frames").unwrap();
    assert!(matches!(
        refused(&path, "a lone log").await,
        StoreError::Damaged { .. }
    ));
    assert!(!path.exists());
}

#[tokio::test]
async fn what_a_crash_leaves_beside_a_sound_database_does_no_harm() {
    let (home, path) = sound().await;
    fs::write(path.with_file_name("chorus.db-wal"), vec![0xa5; 5000]).unwrap();
    fs::write(path.with_file_name("chorus.db.new"), "half made").unwrap();
    fs::write(path.with_file_name("chorus.db.closed"), "12 34\n").unwrap();
    let store = Store::open(&path).await.unwrap();
    assert_eq!(store.unclaimed().await.unwrap().len(), 200);
    assert_eq!(store.agent(home.agent).await.unwrap().unwrap().name, "lab");
}

#[tokio::test]
async fn a_first_start_that_was_killed_half_way_starts_afresh() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db/chorus.db");
    fs::create_dir(folder.path().join("db")).unwrap();
    fs::write(
        folder.path().join("db/chorus.db.new"),
        "SQLite format 3\0 and no more",
    )
    .unwrap();
    let store = Store::open(&path).await.unwrap();
    assert!(store.agents().await.unwrap().is_empty());
}

#[tokio::test]
async fn one_unreadable_row_spoils_one_answer_only() {
    let (home, path) = sound().await;
    let damage = "UPDATE inbound SET body = '\"secret words\"' WHERE message_id = 7";
    changes(&path, damage);
    let store = Store::open(&path).await.unwrap();
    assert_eq!(store.unclaimed().await.unwrap().len(), 199);
    let error = store.waiting(MessageId(7)).await.unwrap_err().to_string();
    assert!(
        error.contains("body") && !error.contains("secret"),
        "{error}"
    );
    assert!(store.agent(home.agent).await.unwrap().is_some());
    store.accept(&message(1000, "still")).await.unwrap();
}

#[test]
fn one_home_has_one_daemon() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let held = HomeLock::acquire(&home).unwrap();
    let error = HomeLock::acquire(&home).unwrap_err();
    assert!(
        matches!(error, StoreError::Locked { pid: Some(pid), .. } if pid == std::process::id())
    );
    drop(held);
    HomeLock::acquire(&home).unwrap();

    let in_the_way = folder.path().join("file");
    fs::write(&in_the_way, "").unwrap();
    assert!(matches!(
        HomeLock::acquire(&in_the_way),
        Err(StoreError::Home { .. })
    ));
}
