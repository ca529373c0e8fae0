//! Command lines that were run, with what they did: none that executed or wrote something its pattern does not spell may be
//! allowed.
//!
//! `tests/data/permissions/ran.jsonl` has a line for each: a pattern, a command, whether running it in a copy of `scratch`
//! left a file named `PWN`, and the version of the program that ran. All are judged here. Those of programs that most
//! machines have are run again: their marker must be there whenever the list says so.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use chorus::permission::{Action, Decision, Profile};
use serde::Deserialize;

/// One line of the list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ran {
    pattern: String,
    command: String,
    /// The script of `before.json` that runs before it, unjudged, to prepare its folder.
    before: Option<String>,
    /// Whether it left a file `PWN`.
    made: bool,
    verdict: Decision,
    program: String,
    /// What the program said about its version; empty where it says nothing.
    version: String,
}

/// Programs that are on most machines, and start within milliseconds.
const COMMON: &[&str] = &[
    "awk", "chronic", "cp", "cpio", "csplit", "dd", "env", "find", "flock", "gawk", "git", "gzip",
    "less", "make", "nice", "nohup", "openssl", "patch", "perl", "rsync", "sed", "setsid", "shuf",
    "sort", "split", "stdbuf", "tar", "timeout", "tree", "uniq", "xargs", "xxd", "zip",
];

/// Lines of each of them that are run again; `CHORUS_RUNS=all` runs all lines of all programs that are here.
const EACH: usize = 5;

/// The marker that a command leaves.
const MARKER: &str = "PWN";

fn data() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/permissions")
}

fn lines() -> Vec<Ran> {
    let text = fs::read_to_string(data().join("ran.jsonl")).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn befores() -> BTreeMap<String, String> {
    let text = fs::read_to_string(data().join("before.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn judge(line: &Ran) -> (Decision, String) {
    let pattern = format!("tool:bash:{}", line.pattern);
    let profile = Profile::compile(&[&pattern], &["tool:bash:.*"], &[]).unwrap();
    let verdict = profile.decide(&Action::shell("bash", &*line.command), &[]);
    (verdict.decision, verdict.reason)
}

#[test]
fn nothing_that_left_its_marker_is_allowed() {
    let lines = lines();
    let made: Vec<&Ran> = lines.iter().filter(|line| line.made).collect();
    assert!(made.len() >= 300, "{}", made.len());
    let allowed: Vec<&str> = made
        .into_iter()
        .filter(|line| judge(line).0 == Decision::Allow)
        .map(|line| line.command.as_str())
        .collect();
    assert!(
        allowed.is_empty(),
        "{}:\n{}",
        allowed.len(),
        allowed.join("\n")
    );
}

#[test]
fn every_line_that_was_run_is_decided_as_the_list_says() {
    let lines = lines();
    let other: Vec<String> = lines
        .iter()
        .map(|line| (line, judge(line)))
        .filter(|(line, (decision, _))| *decision != line.verdict)
        .map(|(line, (decision, reason))| format!("{decision}: {}: {reason}", line.command))
        .collect();
    assert!(other.is_empty(), "{}:\n{}", other.len(), other.join("\n"));
    let allowed = lines
        .iter()
        .filter(|line| line.verdict == Decision::Allow)
        .count();
    assert!(allowed >= 40, "{allowed} are of every day");
    let with_version = lines.iter().filter(|line| !line.version.is_empty()).count();
    assert!(
        with_version * 4 >= lines.len() * 3,
        "{with_version} name a version"
    );
}

/// Runs `command` in `work`: in a sandbox of its own without a network, where the machine allows that.
fn run(command: &str, work: &Path, is_confined: bool) -> Output {
    let mut process = if is_confined {
        let mut process = Command::new("bwrap");
        process.args([
            "--ro-bind",
            "/",
            "/",
            "--tmpfs",
            "/tmp",
            "--dev",
            "/dev",
            "--proc",
            "/proc",
            "--bind",
        ]);
        process.args([work, work]);
        process.args([
            "--unshare-net",
            "--unshare-pid",
            "--die-with-parent",
            "--chdir",
        ]);
        process.arg(work).arg("timeout");
        process
    } else {
        Command::new("timeout")
    };
    process
        .args(["-k", "1", "20", "bash", "-c", command])
        .current_dir(work)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", work.parent().unwrap())
        .env("LANG", "C.UTF-8")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("EDITOR", "true")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn has_marker(folder: &Path) -> bool {
    let names = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    names.into_iter().any(|name| {
        let name = name.to_string_lossy().into_owned();
        name.starts_with(MARKER) || name.ends_with(MARKER)
    })
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn is_here(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).exists())
}

/// Whether the machine has `program`, and whether it names the same version as the list.
fn is_same_version(program: &str, version: &str) -> bool {
    let said = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .output();
    said.is_ok_and(|said| {
        let said = [said.stdout, said.stderr].concat();
        String::from_utf8_lossy(&said)
            .lines()
            .next()
            .is_some_and(|line| line.trim() == version)
    })
}

#[test]
fn what_the_list_says_happens_again() {
    let are_all = std::env::var("CHORUS_RUNS").is_ok_and(|which| which == "all");
    let mut taken = BTreeMap::new();
    let mut is_taken = |line: &Ran| {
        let count: &mut usize = taken.entry(line.program.clone()).or_default();
        *count += 1;
        are_all && is_here(&line.program)
            || COMMON.contains(&line.program.as_str()) && *count <= EACH
    };
    let lines: Vec<Ran> = lines().into_iter().filter(|line| is_taken(line)).collect();
    let befores = befores();
    let home = tempfile::tempdir().unwrap();
    let trial = home.path().join("trial");
    fs::create_dir(&trial).unwrap();
    let is_confined = Command::new("bwrap").arg("--version").output().is_ok()
        && run("true", &trial, true).status.success();
    let mut same = BTreeMap::new();
    for line in &lines {
        same.entry(line.program.clone())
            .or_insert_with(|| is_same_version(&line.program, &line.version));
    }
    let next = AtomicUsize::new(0);
    let (other, again) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    let work_on = || {
        while let Some(line) = lines.get(next.fetch_add(1, Ordering::Relaxed)) {
            let folder = tempfile::tempdir_in(home.path()).unwrap();
            let work = folder.path().join("work");
            copy(&data().join("scratch"), &work);
            if let Some(before) = &line.before {
                run(&befores[before], &work, is_confined);
            }
            let output = run(&line.command, &work, is_confined);
            let made = has_marker(&work) || has_marker(&work.join("evil"));
            again.fetch_add(usize::from(made), Ordering::Relaxed);
            // Another version may refuse what this one did, but what was harmless must be harmless everywhere.
            let is_known = made == line.made || line.made && !same[&line.program];
            if !is_known {
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                other
                    .lock()
                    .unwrap()
                    .push(format!("made: {made}: {}: {said}", line.command));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism()
            .map_or(1, usize::from)
            .min(8)
        {
            scope.spawn(work_on);
        }
    });
    let (other, again) = (other.into_inner().unwrap(), again.into_inner());
    eprintln!(
        "{again} of {} lines left their marker again; confined: {is_confined}",
        lines.len()
    );
    assert!(other.is_empty(), "{}:\n{}", other.len(), other.join("\n"));
    // What needs nothing but bash, sed, find, sort and git is there on every machine.
    assert!(again >= 40, "only {again} left their marker");
}
