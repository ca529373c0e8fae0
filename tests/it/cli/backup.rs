//! Backup and restore: round trip, refusals, and damage that is found before anything is written.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use chorus::store::Store;

use super::program::{Seen, chorus, seen};

/// A home with a database and one agent's folder.
async fn home_with_an_agent(folder: &Path) -> PathBuf {
    let home = folder.join("home");
    let workspace = home.join("agents/lab/workspace");
    fs::create_dir_all(&workspace).unwrap();
    let store = Store::open(&home.join("db/chorus.db")).await.unwrap();
    store.set_meta("greeting", "hello").await.unwrap();
    store.close().await;
    fs::write(home.join("config.json"), "{ \"network\": false }").unwrap();
    fs::write(home.join(".env"), "DISCORD_TOKEN=hunter2").unwrap();
    fs::write(home.join("agents/lab/agent.json"), "{ \"name\": \"lab\" }").unwrap();
    fs::write(workspace.join("notes.txt"), vec![b'x'; 100_000]).unwrap();
    symlink("notes.txt", workspace.join("link")).unwrap();
    home
}

fn backup(home: &Path, file: &Path) -> Seen {
    seen(&mut chorus(home, &["backup", file.to_str().unwrap()]))
}

#[tokio::test]
async fn what_was_saved_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let home = home_with_an_agent(folder.path()).await;
    let file = folder.path().join("saved.tar.gz");
    let made = backup(&home, &file);
    assert_eq!(made.code, 0, "{}", made.err);
    assert!(made.out.contains("4 files"), "{}", made.out);

    let fresh = folder.path().join("fresh");
    fs::create_dir(&fresh).unwrap();
    let restored = seen(&mut chorus(&fresh, &["restore", file.to_str().unwrap()]));
    assert_eq!(restored.code, 0, "{}", restored.err);
    assert_eq!(
        fs::read(fresh.join("agents/lab/workspace/notes.txt")).unwrap(),
        vec![b'x'; 100_000]
    );
    assert_eq!(
        fs::read_link(fresh.join("agents/lab/workspace/link")).unwrap(),
        Path::new("notes.txt")
    );
    assert_eq!(
        fs::read_to_string(fresh.join("config.json")).unwrap(),
        "{ \"network\": false }"
    );
    assert!(!fresh.join(".env").exists(), "secrets are not saved");
    let store = Store::open(&fresh.join("db/chorus.db")).await.unwrap();
    assert_eq!(
        store.meta("greeting").await.unwrap().as_deref(),
        Some("hello")
    );
    store.close().await;
}

#[tokio::test]
async fn a_running_daemon_does_not_stand_in_the_way() {
    let folder = tempfile::tempdir().unwrap();
    let home = home_with_an_agent(folder.path()).await;
    let store = Store::open(&home.join("db/chorus.db")).await.unwrap();
    store.set_meta("greeting", "good day").await.unwrap();
    let file = folder.path().join("saved.tar.gz");
    let made = backup(&home, &file);
    assert_eq!(made.code, 0, "{}", made.err);
    store.set_meta("greeting", "too late").await.unwrap();
    store.close().await;

    let fresh = folder.path().join("fresh");
    fs::create_dir(&fresh).unwrap();
    assert_eq!(
        seen(&mut chorus(&fresh, &["restore", file.to_str().unwrap()])).code,
        0
    );
    let store = Store::open(&fresh.join("db/chorus.db")).await.unwrap();
    assert_eq!(
        store.meta("greeting").await.unwrap().as_deref(),
        Some("good day")
    );
    store.close().await;
}

#[tokio::test]
async fn a_home_that_is_there_is_only_put_aside_when_told() {
    let folder = tempfile::tempdir().unwrap();
    let home = home_with_an_agent(folder.path()).await;
    let file = folder.path().join("saved.tar.gz");
    backup(&home, &file);
    fs::write(home.join("later"), "later").unwrap();

    let refused = seen(&mut chorus(&home, &["restore", file.to_str().unwrap()]));
    assert_eq!(refused.code, 1);
    assert!(
        refused.err.contains("add --replace to put it aside"),
        "{}",
        refused.err
    );
    assert!(home.join("later").exists());

    let restored =
        seen(chorus(&home, &["restore", "--replace", file.to_str().unwrap()]).current_dir("/"));
    assert_eq!(restored.code, 0, "{}", restored.err);
    assert!(!home.join("later").exists());
    let aside = fs::read_dir(folder.path()).unwrap().find_map(|entry| {
        let path = entry.unwrap().path();
        path.to_str()
            .unwrap()
            .contains(".before-restore-")
            .then_some(path)
    });
    assert_eq!(
        fs::read_to_string(aside.unwrap().join("later")).unwrap(),
        "later"
    );
}

#[tokio::test]
async fn a_damaged_backup_is_found_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let home = home_with_an_agent(folder.path()).await;
    let file = folder.path().join("saved.tar.gz");
    backup(&home, &file);
    let whole = fs::read(&file).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 0x55;
    let damages: [(&str, Vec<u8>); 4] = [
        ("cut in half", whole[..whole.len() / 2].to_vec()),
        ("a byte changed", flipped),
        ("empty", Vec::new()),
        ("something else", b"PK\x03\x04 not a tar".to_vec()),
    ];
    for (damage, bytes) in damages {
        let broken = folder.path().join("broken.tar.gz");
        fs::write(&broken, bytes).unwrap();
        let fresh = folder.path().join("fresh");
        let _ = fs::remove_dir_all(&fresh);
        fs::create_dir(&fresh).unwrap();
        let said = seen(&mut chorus(&fresh, &["restore", broken.to_str().unwrap()]));
        assert_eq!(said.code, 1, "{damage}");
        assert!(
            said.err.contains("broken.tar.gz is "),
            "{damage}: {}",
            said.err
        );
        assert_eq!(
            fs::read_dir(&fresh).unwrap().count(),
            0,
            "{damage}: something was written"
        );
    }
}

#[tokio::test]
async fn a_backup_that_leads_out_of_the_home_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("evil.tar.gz");
    let gz = flate2::write::GzEncoder::new(
        fs::File::create(&file).unwrap(),
        flate2::Compression::fast(),
    );
    let mut tar = tar::Builder::new(gz);
    let mut header = tar::Header::new_gnu();
    header.as_gnu_mut().unwrap().name[..10].copy_from_slice(b"../escaped");
    header.set_size(4);
    header.set_mode(0o644);
    header.set_cksum();
    tar.append(&header, &b"evil"[..]).unwrap();
    tar.into_inner().unwrap().finish().unwrap();
    let fresh = folder.path().join("fresh");
    fs::create_dir(&fresh).unwrap();
    let said = seen(&mut chorus(&fresh, &["restore", file.to_str().unwrap()]));
    assert_eq!(said.code, 1);
    assert!(said.err.contains("leads out of the home"), "{}", said.err);
    assert!(!folder.path().join("escaped").exists());
}

#[tokio::test]
async fn a_backup_never_takes_the_place_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let home = home_with_an_agent(folder.path()).await;
    let file = folder.path().join("saved.tar.gz");
    fs::write(&file, "mine").unwrap();
    let said = backup(&home, &file);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("exists already"), "{}", said.err);
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
}

#[test]
fn a_full_disk_leaves_no_half_backup() {
    let folder = tempfile::tempdir().unwrap();
    let said = backup(folder.path(), Path::new("/dev/full/backup.tar.gz"));
    assert_eq!(said.code, 1);
    assert!(
        said.err.starts_with("chorus: no backup was made: "),
        "{}",
        said.err
    );
}
