//! A thread swaps folders for links while paths are read and written: nothing outside is reached, and nothing protected.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use chorus::workspace::{Jail, WorkspacePath};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::folder::new_folder;

/// How often it is tried: 20,000 times, or `CHORUS_SWAPPER_TRIES`.
fn tries() -> usize {
    let wanted = std::env::var("CHORUS_SWAPPER_TRIES");
    wanted.map_or(20_000, |wanted| wanted.parse().unwrap())
}

const OUTSIDE: &str = "what stands outside";

/// Swaps `a` between a folder and a link out, `b` between a file and a link out, until told to stop.
fn swap(inside: &Path, outside: &Path, done: &AtomicBool) {
    let (folder, file) = (inside.join("a"), inside.join("b"));
    while !done.load(Ordering::Relaxed) {
        let _ = fs::rename(&folder, inside.join("a.kept"));
        let _ = symlink(outside, &folder);
        let _ = fs::remove_file(&file);
        let _ = symlink(outside.join("secret"), &file);
        let _ = fs::remove_file(&folder);
        let _ = fs::rename(inside.join("a.kept"), &folder);
        let _ = fs::remove_file(&file);
        let _ = fs::write(&file, "inside");
    }
}

/// One try of each kind in turn, and whether it reached anything; never what stands outside.
fn attempt(files: &Jail, n: usize) -> bool {
    let path = |text: &str| WorkspacePath::parse(text).unwrap();
    let target = if n.is_multiple_of(2) { "a/secret" } else { "b" };
    match n % 8 {
        0..=3 => files.read(&path(target), 1024).is_ok_and(|contents| {
            assert_ne!(contents.bytes, OUTSIDE.as_bytes());
            true
        }),
        4 => files.write(&path(target), b"written").is_ok(),
        5 => files.append(&path(target), b"+").is_ok(),
        6 => files.write(&path("a/new/deep"), b"written").is_ok(),
        _ => files.list(&path("a")).is_ok_and(|listed| {
            assert!(listed.iter().all(|entry| entry.shown != "only-outside"));
            true
        }),
    }
}

#[test]
fn nothing_outside_is_reached_while_links_are_swapped_in() {
    let tries = tries();
    let home = tempfile::tempdir().unwrap();
    let workspace = new_folder(home.path(), "lab");
    let inside = workspace.own_files_folder();
    let outside = home.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret"), OUTSIDE).unwrap();
    fs::write(outside.join("only-outside"), "").unwrap();
    fs::create_dir(inside.join("a")).unwrap();
    fs::write(inside.join("a/secret"), "inside").unwrap();

    let files = workspace.files().unwrap();
    let done = AtomicBool::new(false);
    let reached = std::thread::scope(|scope| {
        scope.spawn(|| swap(&inside, &outside, &done));
        let reached = (0..tries).filter(|n| attempt(&files, *n)).count();
        done.store(true, Ordering::Relaxed);
        reached
    });
    assert!(reached > 0, "nothing was reached, so nothing was shown");
    assert!(
        reached < tries,
        "nothing was refused, so nothing was swapped"
    );

    let mut left: Vec<_> = fs::read_dir(&outside)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["only-outside", "secret"]);
    assert_eq!(fs::read_to_string(outside.join("secret")).unwrap(), OUTSIDE);
}

const SETTINGS: &str = "[core]\n\teditor = vi\n";

/// Exchanges the folder `a` and a link to the repository's own folder, each time at once, until told to stop.
fn swap_for_repository(inside: &Path, done: &AtomicBool) {
    let (folder, link) = (inside.join("a"), inside.join("b"));
    symlink(".git", &link).unwrap();
    while !done.load(Ordering::Relaxed) {
        renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE).unwrap();
    }
}

#[test]
fn what_git_obeys_is_not_reached_while_links_to_it_are_swapped_in() {
    let tries = tries();
    let home = tempfile::tempdir().unwrap();
    let workspace = new_folder(home.path(), "lab");
    let inside = workspace.own_files_folder();
    let git = inside.join(".git");
    fs::create_dir_all(git.join("hooks")).unwrap();
    fs::write(git.join("config"), SETTINGS).unwrap();
    fs::create_dir_all(inside.join("a/hooks")).unwrap();
    fs::write(inside.join("a/config"), "inside").unwrap();

    let files = workspace.files().unwrap();
    let path = |text: &str| WorkspacePath::parse(text).unwrap();
    let done = AtomicBool::new(false);
    let reached = std::thread::scope(|scope| {
        scope.spawn(|| swap_for_repository(&inside, &done));
        let attempt = |n: usize| match n % 5 {
            0 => files
                .write(&path("a/config"), b"[core]\n\tfsmonitor = touch pwn\n")
                .is_ok(),
            1 => files.append(&path("a/config"), b"\n").is_ok(),
            2 => files
                .write(&path("a/hooks/pre-commit"), b"touch pwn")
                .is_ok(),
            3 => files.write(&path("a/modules/x/config"), b"x").is_ok(),
            _ => files.read(&path("a/config"), 1024).is_ok_and(|contents| {
                assert_ne!(contents.bytes, SETTINGS.as_bytes());
                true
            }),
        };
        let reached = (0..tries).filter(|n| attempt(*n)).count();
        done.store(true, Ordering::Relaxed);
        reached
    });
    assert!(reached > 0, "nothing was reached, so nothing was shown");
    assert!(
        reached < tries,
        "nothing was refused, so nothing was swapped"
    );
    assert_eq!(fs::read_to_string(git.join("config")).unwrap(), SETTINGS);
    assert_eq!(fs::read_dir(git.join("hooks")).unwrap().count(), 0);
    assert!(!git.join("modules").exists());
}
