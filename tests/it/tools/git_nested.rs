//! `git_status` and the repositories below the workspace.

use std::fs;
use std::path::Path;

use git2::Repository;
use insta::assert_snapshot;
use serde_json::json;

use super::hostile_repositories::{CANARY, config, everything, lab_and_outside, outside, traps};
use super::lab::Lab;

/// A repository at `path` below the workspace with one commit and a file that is not in it.
fn repository(lab: &Lab, path: &str) {
    let folder = lab.files().join(path);
    fs::create_dir_all(&folder).unwrap();
    chorus::workspace::repository::init(&folder).unwrap();
    let git = Repository::open(&folder).unwrap();
    fs::write(folder.join("kept.txt"), "kept\n").unwrap();
    let mut index = git.index().unwrap();
    index.add_path(Path::new("kept.txt")).unwrap();
    index.write().unwrap();
    let tree = git.find_tree(index.write_tree().unwrap()).unwrap();
    let name = chorus::domain::AgentName::parse("lab").unwrap();
    let author = chorus::workspace::repository::author(&name).unwrap();
    git.commit(Some("HEAD"), &author, &author, "Begin", &tree, &[])
        .unwrap();
    fs::write(folder.join("new.txt"), "new\n").unwrap();
}

#[tokio::test]
async fn repositories_below_the_workspace_are_told_too() {
    let lab = Lab::new();
    lab.does("git_init", json!({})).await;
    lab.does("git_commit", json!({"message": "Begin"})).await;
    repository(&lab, "app");
    repository(&lab, "clones/far/away/lib");
    repository(&lab, "clones/far/away/too/deep");
    lab.write("clones/notes.txt", "no repository\n");
    fs::write(lab.files().join("clones/far/away/lib/kept.txt"), "other\n").unwrap();
    assert_snapshot!(lab.does("git_status", json!({})).await, @"
    On branch main
    ?? app/
    ?? clones/far/away/lib/
    ?? clones/far/away/too/deep/
    ?? clones/notes.txt

    In `app`:
    On branch main
    ?? new.txt

    In `clones/far/away/lib`:
    On branch main
     M kept.txt
    ?? new.txt
    ");
}

#[tokio::test]
async fn a_workspace_that_is_not_a_repository_says_which_are_below_it() {
    let lab = Lab::new();
    repository(&lab, "app");
    assert_snapshot!(lab.does("git_status", json!({})).await, @"
    The workspace itself is not a repository; git_init makes it one.

    In `app`:
    On branch main
    ?? new.txt
    ");
}

#[tokio::test]
async fn what_is_left_out_is_named() {
    let lab = Lab::new();
    lab.does("git_init", json!({})).await;
    for number in 0..35 {
        repository(&lab, &format!("r{number:02}"));
    }
    for number in 0..80 {
        lab.write(&format!("r03/many/{number}"), "x");
    }
    let told = lab.does("git_status", json!({})).await;
    assert_eq!(told.matches("In `r").count(), 10, "{told}");
    let third = told.split("\n\n").find(|part| part.starts_with("In `r03`"));
    assert_eq!(third.unwrap().lines().count(), 1 + 1 + 50 + 1, "{told}");
    assert_snapshot!(told.lines().last().unwrap(), @"[repositories not looked at: `r10`, `r11`, `r12`, `r13`, `r14`, `r15`, `r16`, `r17`, `r18`, `r19`, `r20`, `r21`, `r22`, `r23`, `r24`, `r25`, `r26`, `r27`, `r28`, `r29` and 5 more]");
}

#[tokio::test]
async fn a_hostile_repository_below_is_not_used_and_hides_no_other() {
    for (trap, set) in traps::TRAPS {
        // These are about the workspace's own repository, or take away the one below.
        if trap.contains("above") {
            continue;
        }
        let (lab, outside) = lab_and_outside().await;
        repository(&lab, "a");
        repository(&lab, "b");
        set(&lab.files().join("a/.git"), &outside);
        harms_nothing(trap, &lab, &outside).await;
    }
    for (trap, lines) in config::LINES {
        let (lab, outside) = lab_and_outside().await;
        repository(&lab, "a");
        repository(&lab, "b");
        let path = lab.files().join("a/.git/config");
        let usual = fs::read_to_string(&path).unwrap();
        let lines = lines.replace("OUT", outside.to_str().unwrap());
        let text = if lines.starts_with('[') {
            format!("{usual}{lines}")
        } else {
            format!("{lines}{usual}")
        };
        fs::write(&path, text).unwrap();
        harms_nothing(trap, &lab, &outside).await;
    }
}

/// The repository `a` is named with the reason why it is not looked at, `b` is looked at, and nothing outside is read,
/// written or run.
async fn harms_nothing(trap: &str, lab: &Lab, outside: &Path) {
    let before = everything(outside);
    let told = lab.does("git_status", json!({})).await;
    assert!(!told.contains(CANARY), "{trap}: {told}");
    assert!(told.contains("In `a`:\nNot looked at: "), "{trap}: {told}");
    assert!(
        told.contains("In `b`:\nOn branch main\n?? new.txt"),
        "{trap}: {told}"
    );
    assert_eq!(everything(outside), before, "{trap}");
}

#[tokio::test]
async fn a_link_to_a_repository_outside_is_not_followed() {
    let lab = Lab::new();
    lab.does("git_init", json!({})).await;
    let outside = outside(&lab);
    std::os::unix::fs::symlink(&outside, lab.files().join("link")).unwrap();
    let told = lab.does("git_status", json!({})).await;
    assert!(!told.contains("In `"), "{told}");
}

/// Each call left a copy of the configuration in the folder for temporary files.
#[tokio::test]
async fn no_call_leaves_a_file_behind() {
    let lab = Lab::new();
    lab.does("git_init", json!({})).await;
    // A configuration like no other, to tell its copy from those of other tests.
    let bits = lab.context.agent.to_string();
    let lines: String = bits
        .bytes()
        .map(|byte| match byte % 2 {
            0 => "\tprecomposeunicode = false\n",
            _ => "\tprecomposeunicode = true\n",
        })
        .collect();
    let path = lab.files().join(".git/config");
    let usual = fs::read_to_string(&path).unwrap();
    fs::write(
        &path,
        usual.replace("[core]\n", &format!("[core]\n{lines}")),
    )
    .unwrap();
    lab.does("git_status", json!({})).await;
    lab.does("git_commit", json!({"message": "Begin"})).await;
    lab.does("git_log", json!({})).await;
    let copies = fs::read_dir(std::env::temp_dir())
        .unwrap()
        .map(Result::unwrap)
        // A pipe of somebody else would be read for ever.
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .filter_map(|entry| fs::read_to_string(entry.path()).ok())
        .filter(|text| text.contains(&lines));
    assert_eq!(copies.count(), 0);
}
