//! A disk that takes no more: never a false success, nothing torn, and on it goes when there is room again.
//!
//! The child is this test binary once more, with a limit on the size of files that it may write and the signal for
//! going over it ignored: what it sees is what a full disk shows, for any user.

use std::process::Command;
use std::sync::Arc;

use chorus::agent::session_file::FileError;
use chorus::agent::sessions::{Save, SessionError, SessionManager, Summary};
use chorus::domain::{SaveTrigger, SessionId};
use chorus::store::{Accepted, Store, StoreError};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::{Home, message, user};

#[test]
fn a_full_disk_is_reported_and_outlived() {
    let child = Command::new("sh")
        .args(["-c", r#"trap "" XFSZ; exec "$0" "$@""#])
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "store::disk::on_a_full_disk",
            "--ignored",
            "--nocapture",
        ])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(
        child.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&child.stderr)
    );
}

/// No file may grow beyond `bytes`.
fn limit(bytes: Option<u64>) {
    let maximum = getrlimit(Resource::Fsize).maximum;
    setrlimit(
        Resource::Fsize,
        Rlimit {
            current: bytes,
            maximum,
        },
    )
    .unwrap();
}

#[tokio::test]
#[ignore = "the child of a_full_disk_is_reported_and_outlived"]
async fn on_a_full_disk() {
    let home = Home::new().await;
    let manager = SessionManager::new(home.agent, "lab", home.folder.path(), home.store.clone());
    let log = home.folder.path().join("db/chorus.db-wal");
    limit(Some(log.metadata().unwrap().len() + 100_000));

    let mut stored = Vec::new();
    let refused = loop {
        let next = message(stored.len() as u64 + 1, &"text ".repeat(2000));
        match home.store.accept(&next).await {
            Ok(Accepted::New) => stored.push(next),
            Ok(Accepted::Known) => panic!("{} was known", next.id),
            Err(error) => break error,
        }
        assert!(stored.len() < 1000, "the limit is not felt");
    };
    assert!(matches!(refused, StoreError::Disk { .. }), "{refused}");
    assert!(
        refused.to_string().starts_with("nothing was stored: "),
        "{refused}"
    );
    assert_eq!(home.store.unclaimed().await.unwrap(), stored);

    let save = || Save {
        hides_words: false,
        id: SessionId::random(),
        conversation: None,
        items: Arc::new(vec![user(1, &"long ".repeat(100_000))]),
        description: Some("large".to_owned()),
        trigger: SaveTrigger::ManualSave,
        summary: Summary::Failed,
    };
    let error = manager.save(save()).await.unwrap_err();
    assert!(
        matches!(error, SessionError::File(FileError::NotWritten { .. })),
        "{error}"
    );
    let left = std::fs::read_dir(home.folder.path().join("sessions"))
        .unwrap()
        .count();
    assert_eq!(left, 0);

    // There is room again: nobody has to restart anything.
    limit(None);
    let next = message(5000, "on it goes");
    assert_eq!(home.store.accept(&next).await.unwrap(), Accepted::New);
    stored.push(next);
    manager.save(save()).await.unwrap();
    assert_eq!(home.store.unclaimed().await.unwrap(), stored);
    home.store.close().await;
    let store = Store::open(home.store.path()).await.unwrap();
    assert_eq!(store.unclaimed().await.unwrap(), stored);
    assert_eq!(store.sessions(home.agent, 0, 10).await.unwrap().total, 1);
}
