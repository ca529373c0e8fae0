//! Hostile paths through every file tool: nothing outside the workspace is read, written or named, nothing hangs.

mod corpus;
mod traps;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use chorus::domain::ToolResult;
use serde_json::{Value, json};

use super::lab::Lab;
use corpus::paths;
use traps::set_traps;

/// Stands in every file outside; whoever reads it got out.
const CANARY: &str = "canary-b7e1";

/// Each file tool on `path`.
fn calls(path: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("view", json!({"path": path})),
        ("glob", json!({"pattern": "**", "path": path})),
        ("grep", json!({"pattern": ".", "path": path})),
        ("send_file", json!({"path": path})),
        ("create_file", json!({"path": path, "content": "written"})),
        ("append_file", json!({"path": path, "content": "written"})),
        (
            "str_replace",
            json!({"path": path, "old_str": CANARY, "new_str": "written"}),
        ),
        (
            "str_replace_all",
            json!({"path": path, "old_str": CANARY, "new_str": "written"}),
        ),
        (
            "insert_at",
            json!({"path": path, "line": 1, "content": "written"}),
        ),
        (
            "replace_lines",
            json!({"path": path, "start": 1, "end": 1, "content": "written"}),
        ),
    ]
}

/// What stands in the folders outside: each name with its content.
fn outside(lab: &Lab) -> Vec<(String, Vec<u8>)> {
    let home = lab.home.path();
    let mut found = Vec::new();
    collect(&home.join("outside"), &mut found);
    collect(&home.join("agents/ada"), &mut found);
    for name in ["agent.json", "secret", "docs/README.md"] {
        let content = fs::read(home.join("agents/lab").join(name)).unwrap();
        found.push((name.to_owned(), content));
    }
    found.sort();
    found
}

fn collect(folder: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found)
        } else {
            found.push((path.display().to_string(), fs::read(&path).unwrap()))
        }
    }
}

fn leaked(result: &ToolResult) -> bool {
    let told = &result.content;
    told.contains(CANARY) || told.contains("root:") || told.contains("deep/secret\n")
}

#[tokio::test]
async fn no_tool_reaches_out_by_any_of_them() {
    let lab = Lab::new();
    set_traps(&lab);
    let before = outside(&lab);
    let paths = paths(&lab);
    assert!(paths.len() > 250, "{} paths", paths.len());
    for path in &paths {
        for (tool, arguments) in calls(path) {
            let result = lab.call(tool, arguments).await;
            assert!(!leaked(&result), "{tool} {path:?}: {}", result.content);
            assert_eq!(outside(&lab), before, "{tool} {path:?} changed something");
        }
    }
    let posted = lab.seen.files.lock().unwrap();
    assert!(
        posted
            .iter()
            .all(|file| !file.content.starts_with(CANARY.as_bytes()))
    );
}

#[tokio::test]
async fn what_is_protected_in_a_repository_stays_as_it_is() {
    let lab = Lab::new();
    set_traps(&lab);
    for path in paths(&lab) {
        for (tool, arguments) in calls(&path) {
            lab.call(tool, arguments).await;
        }
    }
    let git = lab.files().join(".git");
    assert_eq!(fs::read_to_string(git.join("config")).unwrap(), "[core]\n");
    assert_eq!(fs::read_dir(git.join("hooks")).unwrap().count(), 0);
    assert_eq!(fs::read_dir(git.join("objects/info")).unwrap().count(), 0);
    let names = fs::read_dir(&git)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.collect();
    names.sort();
    assert_eq!(names, ["config", "hooks", "objects"]);
    for folder in ["new", "real", "new/deep"] {
        let names = fs::read_dir(lab.files().join(folder)).into_iter().flatten();
        for name in names {
            let name = name.unwrap().file_name().to_string_lossy().to_lowercase();
            assert!(
                !name.starts_with(".git") && !name.starts_with("git~"),
                "{folder}/{name}"
            );
        }
    }
}

#[tokio::test]
async fn other_tools_that_are_given_a_name_reach_nothing_either() {
    let lab = Lab::new();
    lab.does("git_init", json!({})).await;
    lab.does("git_commit", json!({"message": "Begin"})).await;
    fs::remove_dir_all(lab.files().join(".git/hooks")).unwrap();
    set_traps(&lab);
    let notes = lab.home.path().join("agents/lab/docs");
    std::os::unix::fs::symlink("../../ada", notes.join("abs_dir")).unwrap();
    std::os::unix::fs::symlink("../secret", notes.join("abs_file")).unwrap();
    let before = outside(&lab);
    for path in paths(&lab).iter().filter(|path| *path != "docs/README.md") {
        for (tool, arguments) in [
            (
                "self_edit_docs",
                json!({"path": path, "content": "written"}),
            ),
            ("git_commit", json!({"message": "Take", "files": [path]})),
            ("read_agent_docs", json!({"agent": path})),
            ("send_to_agent", json!({"agent": path, "message": "m"})),
            ("tool_output", json!({"handle": path})),
        ] {
            let result = lab.call(tool, arguments).await;
            assert!(!leaked(&result), "{tool} {path:?}: {}", result.content);
            assert_eq!(outside(&lab), before, "{tool} {path:?} changed something");
        }
    }
    assert_eq!(committed(&lab), Vec::<String>::new());
}

/// Names in all that was committed that no tool may take, or whose content stood outside.
fn committed(lab: &Lab) -> Vec<String> {
    let git = git2::Repository::open_bare(lab.files().join(".git")).unwrap();
    let tree = git.head().unwrap().peel_to_tree().unwrap();
    let mut found = Vec::new();
    tree.walk(git2::TreeWalkMode::PreOrder, |folder, entry| {
        let name = format!("{folder}{}", String::from_utf8_lossy(entry.name_bytes()));
        let object = entry.to_object(&git).unwrap();
        let holds_canary = object
            .as_blob()
            .is_some_and(|blob| blob.content().starts_with(CANARY.as_bytes()));
        if holds_canary || name.to_lowercase().contains(".git/") {
            found.push(name);
        }
        git2::TreeWalkResult::Ok
    })
    .unwrap();
    found
}

#[tokio::test]
async fn a_file_that_has_a_name_outside_too_is_never_changed_there() {
    for (tool, arguments) in calls("hard") {
        let lab = Lab::new();
        let outside = lab.home.path().join("outside");
        fs::write(&outside, CANARY).unwrap();
        fs::hard_link(&outside, lab.files().join("hard")).unwrap();
        lab.call(tool, arguments.clone()).await;
        assert_eq!(fs::read_to_string(&outside).unwrap(), CANARY, "{tool}");
        let is_write = lab.prepare(tool, arguments).unwrap().writes.is_some();
        assert_eq!(lab.read("hard").contains("written"), is_write, "{tool}");
    }
}

#[tokio::test]
async fn new_content_loses_the_setuid_bit() {
    let lab = Lab::new();
    lab.write("tool", "old");
    let file = lab.files().join("tool");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o4711)).unwrap();
    lab.does("create_file", json!({"path": "tool", "content": "new"}))
        .await;
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o711);
}

#[tokio::test]
async fn a_pipe_for_gitignore_is_not_waited_for() {
    let lab = Lab::new();
    lab.write("a.txt", "a");
    let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
    let pipe = lab.files().join(".gitignore");
    rustix::fs::mknodat(rustix::fs::CWD, pipe, kind, mode, 0).unwrap();
    assert_eq!(
        lab.does("glob", json!({"pattern": "*"})).await,
        ".gitkeep\na.txt"
    );
}
