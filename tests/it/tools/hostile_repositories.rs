//! Repositories made to do harm: each git tool refuses them or does no harm with them, and nothing outside is read, written
//! or run.

pub(super) mod config;
mod harmless;
pub(super) mod traps;

use std::fs;
use std::path::{Path, PathBuf};

use git2::Repository;
use serde_json::{Value, json};

use super::lab::Lab;

pub(super) const CANARY: &str = "canary-2f90";

/// A repository outside, with a secret in its history and one beside it.
pub(super) fn outside(lab: &Lab) -> PathBuf {
    let outside = lab.home.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret"), CANARY).unwrap();
    let name = chorus::domain::AgentName::parse("ada").unwrap();
    chorus::workspace::repository::init(&outside).unwrap();
    let git = Repository::open(&outside).unwrap();
    let mut index = git.index().unwrap();
    index.add_path(Path::new("secret")).unwrap();
    index.write().unwrap();
    let tree = git.find_tree(index.write_tree().unwrap()).unwrap();
    let author = chorus::workspace::repository::author(&name).unwrap();
    git.commit(Some("HEAD"), &author, &author, CANARY, &tree, &[])
        .unwrap();
    outside
}

/// All files below `folder` with what is in them.
pub(super) fn everything(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(everything(&path))
        } else {
            found.push((path.clone(), fs::read(&path).unwrap()))
        }
    }
    found.sort();
    found
}

/// Every git tool that works on a repository.
fn calls() -> Vec<(&'static str, Value)> {
    vec![
        ("git_status", json!({})),
        ("git_log", json!({})),
        ("git_diff", json!({})),
        ("git_branch", json!({"name": "side"})),
        ("git_commit", json!({"message": "Take"})),
        (
            "git_commit",
            json!({"message": "Take", "files": ["new.txt"]}),
        ),
        ("git_checkout", json!({"ref": "main"})),
        ("git_push", json!({"remote": "origin", "branch": "main"})),
        (
            "git_merge_request",
            json!({"title": "t", "description": "d", "source": "a", "target": "b"}),
        ),
    ]
}

/// A lab with one commit, and a repository outside.
pub(super) async fn lab_and_outside() -> (Lab, PathBuf) {
    let lab = Lab::new();
    lab.does("git_init", json!({})).await;
    lab.does("git_commit", json!({"message": "Begin"})).await;
    let outside = outside(&lab);
    (lab, outside)
}

/// Every tool refuses the repository and says why; nothing outside is read, written or run.
async fn is_refused(trap: &str, lab: &Lab, outside: &Path) {
    lab.write("new.txt", "new\n");
    let before = everything(outside);
    for (tool, arguments) in calls() {
        let told = lab.refuses(tool, arguments).await;
        assert!(!told.contains(CANARY), "{trap}, {tool}: {told}");
        let is_named =
            told.contains("is not used as it is") || told.contains("is not a repository");
        assert!(is_named, "{trap}, {tool}: {told}");
    }
    assert_eq!(everything(outside), before, "{trap}");
}

#[tokio::test]
async fn no_configuration_that_leads_elsewhere_is_used() {
    for (trap, lines) in config::LINES {
        let (lab, outside) = lab_and_outside().await;
        let path = lab.files().join(".git/config");
        let lines = lines.replace("OUT", outside.to_str().unwrap());
        let usual = fs::read_to_string(&path).unwrap();
        let text = if lines.starts_with('[') {
            format!("{usual}{lines}")
        } else {
            format!("{lines}{usual}")
        };
        fs::write(&path, text).unwrap();
        is_refused(trap, &lab, &outside).await;
    }
}

#[tokio::test]
async fn no_hostile_repository_is_used() {
    for (trap, set) in traps::TRAPS {
        let (lab, outside) = lab_and_outside().await;
        set(&lab.files().join(".git"), &outside);
        is_refused(trap, &lab, &outside).await;
    }
}

#[tokio::test]
async fn hooks_and_filters_of_the_repository_never_run() {
    let lab = Lab::new();
    lab.does("git_init", json!({})).await;
    let ran = lab.home.path().join("ran");
    for hook in [
        "pre-commit",
        "commit-msg",
        "post-commit",
        "post-checkout",
        "pre-push",
    ] {
        let path = lab.files().join(".git/hooks").join(hook);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\ntouch {}\n", ran.display())).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&path, mode).unwrap();
    }
    lab.write(".gitattributes", "* filter=evil diff=evil merge=evil\n");
    lab.write("a.txt", "a\n");
    lab.does("git_commit", json!({"message": "Begin"})).await;
    lab.does("git_checkout", json!({"ref": "side", "create": true}))
        .await;
    lab.does("git_diff", json!({})).await;
    assert!(!ran.exists());
}

#[tokio::test]
async fn what_the_program_git_writes_is_used() {
    let lab = Lab::new();
    lab.does("git_init", json!({})).await;
    lab.does("git_commit", json!({"message": "Begin"})).await;
    let config = lab.files().join(".git/config");
    let usual = "\
# made by git
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = true
[user]
\tname = Somebody
\temail = somebody@example.org
[remote \"origin\"]
\turl = git@github.com:ada/lab.git
\tfetch = +refs/heads/*:refs/remotes/origin/*
[branch \"main\"]
\tremote = origin
\tmerge = refs/heads/main
";
    fs::write(config, usual).unwrap();
    lab.does("git_status", json!({})).await;
    let told = lab
        .refuses("git_push", json!({"remote": "origin", "branch": "main"}))
        .await;
    insta::assert_snapshot!(told, @"the operator has not opened `github.com` for pushes (`git.hosts` in config.json)");
    let told = lab
        .refuses("git_push", json!({"remote": "upstream", "branch": "main"}))
        .await;
    insta::assert_snapshot!(told, @"there is no remote `upstream`; there are origin");
}
