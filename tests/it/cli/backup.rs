//! Backup and restore: round trip, refusals, and damage that is found before anything is written.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use chorus::store::Store;

use super::program::{Seen, chorus, seen};

/// A home with a database and one agent's folder.
pub(super) async fn home_with_an_agent(folder: &Path) -> PathBuf {
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

pub(super) fn backup(home: &Path, file: &Path) -> Seen {
    seen(&mut chorus(home, &["backup", file.to_str().unwrap()]))
}

#[tokio::test]
async fn what_was_saved_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let home = home_with_an_agent(folder.path()).await;
    let of_commands = "agents/lab/home";
    fs::create_dir(home.join(of_commands)).unwrap();
    set_mode(&home.join(of_commands), 0o700);
    fs::write(home.join(of_commands).join(".netrc"), "a token").unwrap();
    let file = folder.path().join("saved.tar.gz");
    let made = backup(&home, &file);
    assert_eq!(made.code, 0, "{}", made.err);
    assert!(made.out.contains("5 files"), "{}", made.out);

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
    assert_eq!(mode(&fresh.join(of_commands)), 0o700);
    assert!(fresh.join(of_commands).join(".netrc").is_file());
    let store = Store::open(&fresh.join("db/chorus.db")).await.unwrap();
    assert_eq!(
        store.meta("greeting").await.unwrap().as_deref(),
        Some("hello")
    );
    store.close().await;
}

#[tokio::test]
async fn roles_templates_and_decisions_of_the_home_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let home = home_with_an_agent(folder.path()).await;
    let files = [
        "charters/reviewer.md",
        "templates/helper/charter.md",
        "templates/helper/workspace/plan.txt",
        "servers/7/decisions.md",
    ];
    for file in files {
        let path = home.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("This is {file}.")).unwrap();
    }
    // Where the daemon keeps its own files there are no links, and a backup with one could not be read.
    symlink("plan.txt", home.join("templates/helper/workspace/link")).unwrap();
    let file = folder.path().join("saved.tar.gz");
    let made = backup(&home, &file);
    assert_eq!(made.code, 0, "{}", made.err);
    assert!(
        made.err
            .contains("not saved: templates/helper/workspace/link"),
        "{}",
        made.err
    );
    let fresh = folder.path().join("fresh");
    fs::create_dir(&fresh).unwrap();
    let restored = seen(&mut chorus(&fresh, &["restore", file.to_str().unwrap()]));
    assert_eq!(restored.code, 0, "{}", restored.err);
    for file in files {
        let text = fs::read_to_string(fresh.join(file)).unwrap();
        assert_eq!(text, format!("This is {file}."));
    }
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
        refused.err.contains("add --replace to move it aside"),
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
    assert!(said.err.contains("already exists"), "{}", said.err);
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

/// Nobody's: an ordinary user that every machine has.
const ORDINARY: u32 = 65534;

/// Bytes of a file that is nearly all hole.
const SPARSE: u64 = 256 << 20;

pub(super) fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

pub(super) fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// The user who runs the tests, and an ordinary one where that is root.
pub(super) fn users() -> Vec<u32> {
    match rustix::process::geteuid().as_raw() {
        0 => vec![0, ORDINARY],
        user => vec![user],
    }
}

/// The program as `user`, who may write whatever is made.
pub(super) fn chorus_as(user: u32, folder: &Path, home: &Path, arguments: &[&str]) -> Command {
    let program = folder.join("chorus");
    if !program.exists() {
        fs::copy(env!("CARGO_BIN_EXE_chorus"), &program).unwrap();
    }
    let mut command = Command::new("bash");
    command
        .args(["-c", "umask 000 && exec \"$0\" \"$@\""])
        .arg(&program)
        .args(arguments)
        .env("CHORUS_HOME", home)
        .env("HOME", folder)
        .current_dir(folder);
    if user != rustix::process::geteuid().as_raw() {
        command.uid(user).gid(user);
    }
    command
}

/// Gives `folder` and all in it to `user`.
pub(super) fn give(folder: &Path, user: u32) {
    let given = Command::new("chown")
        .args(["-hR", &format!("{user}:{user}")])
        .arg(folder)
        .status();
    assert!(rustix::process::geteuid().as_raw() == user || given.unwrap().success());
}

#[tokio::test]
async fn modes_come_back_but_not_those_by_which_programs_run_as_another_user() {
    for user in users() {
        let folder = tempfile::tempdir().unwrap();
        let home = home_with_an_agent(folder.path()).await;
        let workspace = home.join("agents/lab/workspace");
        let private = workspace.join("private");
        fs::create_dir(&private).unwrap();
        fs::create_dir(workspace.join("shared")).unwrap();
        for (file, mode) in [
            ("script", 0o755),
            ("private/key", 0o400),
            ("suid", 0o4755),
            ("sgid", 0o2711),
        ] {
            fs::write(workspace.join(file), file).unwrap();
            set_mode(&workspace.join(file), mode);
        }
        set_mode(&home.join("db"), 0o755);
        set_mode(&home.join("db/chorus.db"), 0o644);
        set_mode(&home.join("config.json"), 0o640);
        set_mode(&private, 0o500);
        set_mode(&workspace.join("shared"), 0o3777);
        if rustix::process::geteuid().is_root() {
            // Changing the owner takes the bit away.
            chown(workspace.join("suid"), Some(1000), Some(1000)).unwrap();
            set_mode(&workspace.join("suid"), 0o4755);
        }
        let file = folder.path().join("saved.tar.gz");
        let made = backup(&home, &file);
        assert_eq!(made.code, 0, "{}", made.err);
        set_mode(&private, 0o700);
        set_mode(&file, 0o644);
        set_mode(folder.path(), 0o777);

        let fresh = folder.path().join("fresh");
        let restored = chorus_as(
            user,
            folder.path(),
            &fresh,
            &["restore", file.to_str().unwrap()],
        );
        let restored = seen(&mut { restored });
        assert_eq!(restored.code, 0, "{}", restored.err);
        let workspace = fresh.join("agents/lab/workspace");
        let expected = [
            (fresh.clone(), 0o700),
            (fresh.join("db"), 0o700),
            (fresh.join("db/chorus.db"), 0o600),
            (fresh.join("config.json"), 0o640),
            (workspace.join("script"), 0o755),
            (workspace.join("private"), 0o500),
            (workspace.join("private/key"), 0o400),
            (workspace.join("suid"), 0o755),
            (workspace.join("sgid"), 0o711),
            (workspace.join("shared"), 0o777),
        ];
        for (path, wanted) in expected {
            assert_eq!(mode(&path), wanted, "{} as {user}", path.display());
            assert_eq!(
                fs::metadata(&path).unwrap().uid(),
                user,
                "{}",
                path.display()
            );
        }
        let said = "setuid, setgid and sticky bits are not restored: 3 files and folders had one, the first is \
                    agents/lab/workspace/sgid";
        assert!(restored.out.contains(said), "{}", restored.out);
        set_mode(&workspace.join("private"), 0o700);
    }
}

#[tokio::test]
async fn whatever_an_agent_names_its_files_they_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let home = home_with_an_agent(folder.path()).await;
    let workspace = home.join("agents/lab/workspace");
    let long = format!("{}/{}", "d".repeat(200), "f".repeat(200));
    fs::create_dir(workspace.join("d".repeat(200))).unwrap();
    let names: Vec<&OsStr> = [
        b"-rf".as_slice(),
        b"--checkpoint-action=exec=sh",
        b"two\nlines",
        b"\x1b[2J",
        b"not UTF-8 \xff",
        b"not UTF-8 \xfe",
        b" ",
        b"back\\slash",
        b"manifest.json",
        long.as_bytes(),
    ]
    .map(OsStr::from_bytes)
    .to_vec();
    for name in &names {
        fs::write(workspace.join(name), name.as_bytes()).unwrap();
    }
    symlink("x".repeat(300), workspace.join("far")).unwrap();
    symlink(OsStr::from_bytes(b"\xff"), workspace.join("odd")).unwrap();
    fs::hard_link(workspace.join("notes.txt"), workspace.join("hard")).unwrap();
    fs::File::create(workspace.join("sparse"))
        .unwrap()
        .set_len(SPARSE)
        .unwrap();
    let _socket = UnixListener::bind(workspace.join("socket")).unwrap();
    make_pipe(&workspace.join("pipe"));

    let file = folder.path().join("saved.tar.gz");
    let made = backup(&home, &file);
    assert_eq!((made.code, made.err.as_str()), (0, ""));
    let fresh = folder.path().join("fresh");
    fs::create_dir(&fresh).unwrap();
    let restored = seen(&mut chorus(&fresh, &["restore", file.to_str().unwrap()]));
    assert_eq!(restored.code, 0, "{}", restored.err);
    let restored = fresh.join("agents/lab/workspace");
    for name in &names {
        assert_eq!(
            fs::read(restored.join(name)).unwrap(),
            name.as_bytes(),
            "{name:?}"
        );
    }
    assert_eq!(
        fs::read_link(restored.join("far"))
            .unwrap()
            .as_os_str()
            .len(),
        300
    );
    assert_eq!(
        fs::read_link(restored.join("odd"))
            .unwrap()
            .as_os_str()
            .as_bytes(),
        b"\xff"
    );
    assert_eq!(
        fs::read(restored.join("hard")).unwrap(),
        vec![b'x'; 100_000]
    );
    let sparse = fs::metadata(restored.join("sparse")).unwrap();
    assert_eq!(sparse.len(), SPARSE);
    assert!(
        sparse.blocks() * 512 < SPARSE / 10,
        "{} blocks",
        sparse.blocks()
    );
    assert!(!restored.join("socket").exists() && !restored.join("pipe").exists());
}

#[tokio::test]
async fn what_cannot_be_read_is_named_and_holds_up_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let home = home_with_an_agent(folder.path()).await;
    let workspace = home.join("agents/lab/workspace");
    let mut deep = workspace.join("deep");
    for _ in 0..300 {
        deep.push("d");
    }
    fs::create_dir_all(&deep).unwrap();
    fs::write(workspace.join("closed"), "closed").unwrap();
    fs::create_dir(workspace.join("locked")).unwrap();
    for closed in ["closed", "locked"] {
        set_mode(&workspace.join(closed), 0);
    }
    set_mode(folder.path(), 0o777);
    let user = *users().last().unwrap();
    give(&home, user);
    let file = folder.path().join("saved.tar.gz");
    let made = seen(&mut chorus_as(
        user,
        folder.path(),
        &home,
        &["backup", file.to_str().unwrap()],
    ));
    set_mode(&workspace.join("locked"), 0o700);
    assert_eq!(made.code, 0, "{}", made.err);
    let lines: Vec<&str> = made.err.lines().collect();
    assert_eq!(lines.len(), 3, "{}", made.err);
    assert_eq!(
        lines[0],
        "not saved: agents/lab/workspace/closed: Permission denied (os error 13)"
    );
    assert!(
        lines[1].starts_with("not saved: agents/lab/workspace/deep/d/d/d"),
        "{}",
        lines[1]
    );
    assert!(lines[1].ends_with(": its path is too deep"), "{}", lines[1]);
    assert_eq!(
        lines[2],
        "not saved: agents/lab/workspace/locked: Permission denied (os error 13)"
    );
    let checked = seen(&mut chorus(
        &home,
        &["restore", "--check", file.to_str().unwrap()],
    ));
    assert_eq!(checked.code, 0, "{}", checked.err);
    assert_eq!(mode(&file), 0o600);
}

/// How many names are replaced all the time while backups are made.
const RESTLESS: usize = 40;

#[tokio::test]
async fn what_is_swapped_while_it_is_saved_brings_nothing_in_and_holds_up_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let home = home_with_an_agent(folder.path()).await;
    let outside = folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret"), "canary-5e21").unwrap();
    let workspace = home.join("agents/lab/workspace");
    let over = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let mut round = 0;
            while !over.load(Ordering::Relaxed) {
                for number in 0..RESTLESS {
                    swap(&workspace, number, round + number, &outside);
                }
                round += 1;
            }
        });
        let _over = Over(&over);
        for number in 0..20 {
            let file = folder.path().join(format!("{number}.tar.gz"));
            let made = seen(
                Command::new("timeout")
                    .args(["-s", "KILL", "60"])
                    .arg(env!("CARGO_BIN_EXE_chorus"))
                    .args(["backup", file.to_str().unwrap()])
                    .env("CHORUS_HOME", &home),
            );
            assert_eq!((made.code, made.err.as_str()), (0, ""), "backup {number}");
            let mut text = Vec::new();
            let packed = fs::File::open(&file).unwrap();
            std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(packed), &mut text)
                .unwrap();
            let has_canary = text.windows(11).any(|bytes| bytes == b"canary-5e21");
            assert!(!has_canary, "backup {number} holds what lies outside");
        }
    });
}

/// Ends the swapping, also when the test fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Puts a file, a link outside, a folder, a link to a folder outside, or a pipe in the place of what has the name.
fn swap(workspace: &Path, number: usize, kind: usize, outside: &Path) {
    let name = workspace.join(format!("restless-{number}"));
    let next = workspace.join(format!("next-{number}"));
    match kind % 5 {
        0 => fs::write(&next, "x").unwrap(),
        1 => symlink(outside.join("secret"), &next).unwrap(),
        2 => fs::create_dir(&next).unwrap(),
        3 => symlink(outside, &next).unwrap(),
        _ => make_pipe(&next),
    }
    if fs::rename(&next, &name).is_err() {
        let _ = fs::remove_file(&name).or_else(|_| fs::remove_dir(&name));
        fs::rename(&next, &name).unwrap();
    }
}

fn make_pipe(path: &Path) {
    rustix::fs::mknodat(
        rustix::fs::CWD,
        path,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
}
