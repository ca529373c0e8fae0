//! Hostile paths through every file tool: nothing outside the workspace is read, written or named, nothing hangs.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use chorus::domain::ToolResult;
use serde_json::{Value, json};

use super::lab::Lab;

/// Stands in every file outside; whoever reads it got out.
const CANARY: &str = "canary-b7e1";

/// Links and special files to try; each leads out, nowhere, round, or to what is protected.
fn set_traps(lab: &Lab) {
    let inside = lab.files();
    let outside = lab.home.path().join("outside");
    fs::create_dir_all(outside.join("deep")).unwrap();
    fs::write(outside.join("secret"), CANARY).unwrap();
    fs::write(outside.join("deep/secret"), CANARY).unwrap();
    fs::write(lab.home.path().join("agents/ada/workspace/secret"), CANARY).unwrap();
    fs::write(lab.home.path().join("agents/lab/secret"), CANARY).unwrap();
    fs::create_dir_all(inside.join("real/sub")).unwrap();
    fs::write(inside.join("real/file"), "inside").unwrap();
    fs::create_dir_all(inside.join(".git/hooks")).unwrap();
    fs::create_dir_all(inside.join(".git/objects/info")).unwrap();
    fs::write(inside.join(".git/config"), "[core]\n").unwrap();
    let links = [
        ("abs_file", outside.join("secret")),
        ("abs_dir", outside.clone()),
        ("rel_file", "../../../outside/secret".into()),
        ("rel_dir", "../../../outside".into()),
        ("up", "..".into()),
        ("agent_json", "../agent.json".into()),
        ("docs", "../docs".into()),
        ("root", "/".into()),
        ("proc", "/proc/self".into()),
        ("cwd", "/proc/self/cwd".into()),
        ("fd", "/proc/self/fd".into()),
        ("loop", "loop".into()),
        ("loop_a", "loop_b".into()),
        ("loop_b", "loop_a".into()),
        ("dangling", "../../../outside/not-yet".into()),
        ("dangling_abs", outside.join("not-yet")),
        ("real/sub/out", "../../../../../outside".into()),
        ("chain", "chain_2".into()),
        ("chain_2", "real/sub/out".into()),
        ("null", "/dev/null".into()),
        ("zero", "/dev/zero".into()),
        ("config_link", ".git/config".into()),
        ("git_link", ".git".into()),
        ("hooks_link", ".git/hooks".into()),
    ];
    for (name, target) in links {
        symlink(target, inside.join(name)).unwrap();
    }
    for name in ["pipe", "real/pipe"] {
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
        rustix::fs::mknodat(rustix::fs::CWD, inside.join(name), kind, mode, 0).unwrap();
    }
    // Kept open by nobody: opening it says so at once.
    std::os::unix::net::UnixListener::bind(inside.join("socket")).unwrap();
}

/// Every path to try.
fn paths(lab: &Lab) -> Vec<String> {
    let outside = lab.home.path().join("outside/secret");
    let mut paths: Vec<String> = [
        "/etc/passwd",
        "//etc/passwd",
        "/",
        "/proc/self/environ",
        "/dev/stdin",
        "/dev/zero",
        "..",
        "../",
        "../..",
        "../agent.json",
        "../docs/README.md",
        "../secret",
        "../../ada/agent.json",
        "../../ada/workspace/secret",
        "../../../outside/secret",
        "../workspace/../secret",
        "real/../../secret",
        "real/sub/../../../secret",
        "./../secret",
        ".//..//secret",
        "real/./.././../secret",
        "a/../../b",
        "a/b/c/../../../../secret",
        "real/sub/out/../secret",
        "...",
        "..../secret",
        ".. /secret",
        "..\\..\\outside\\secret",
        "real\\..\\..\\secret",
        "C:\\Windows\\win.ini",
        "\\\\host\\share",
        "file:///etc/passwd",
        "~",
        "~/.ssh/id_rsa",
        "~root/.bashrc",
        "$HOME/.bashrc",
        "${HOME}",
        "`id`",
        "$(id)",
        "%2e%2e/secret",
        "%2e%2e%2fsecret",
        "..%2fsecret",
        "..%c0%afsecret",
        "\u{ff0e}\u{ff0e}/secret",
        "\u{2024}\u{2024}/secret",
        "..\u{2215}secret",
        "..\u{200b}/secret",
        "\u{202e}terces/..",
        "real/\0/../../secret",
        "secret\0.txt",
        "\0",
        "a\nb",
        "a\rb",
        "\t",
        " ",
        "",
        " real/file",
        "real/file ",
        "real/file\n",
        "-rf",
        "--help",
        "*",
        "?",
        "abs_file",
        "abs_dir/secret",
        "abs_dir/deep/secret",
        "abs_dir/new",
        "abs_dir/new/deep",
        "rel_file",
        "rel_dir/secret",
        "rel_dir/deep/../secret",
        "up/secret",
        "up/agent.json",
        "up/up",
        "agent_json",
        "docs/README.md",
        "root/etc/passwd",
        "root",
        "proc/environ",
        "proc/root/etc/passwd",
        "cwd/Cargo.toml",
        "fd/0",
        "fd/3",
        "loop",
        "loop/x",
        "loop_a",
        "loop_a/x",
        "dangling",
        "dangling/x",
        "dangling_abs",
        "real/sub/out/secret",
        "real/sub/out/new",
        "chain/secret",
        "chain/deep/secret",
        "chain/new",
        "chain_2/../secret",
        "null",
        "zero",
        "pipe",
        "real/pipe",
        "pipe/x",
        "socket",
        "socket/x",
        "real/file/x",
        "real/file/../../../secret",
        "real/file/..",
        "real/sub/../../..",
        ".git",
        ".git/",
        ".git/config",
        "./.git//config",
        "real/../.git/config",
        ".git/./config",
        ".GIT/config",
        ".Git/Config",
        ".git/CONFIG",
        ".git./config",
        ".git /config",
        "git~1/config",
        ".git/config/x",
        ".git/config.worktree",
        ".git/hooks",
        ".git/hooks/pre-commit",
        ".git/hooks/../config",
        ".git/HOOKS/pre-push",
        ".git/info/attributes",
        ".git/info/exclude",
        ".git/info",
        ".git/objects/info/alternates",
        ".git/commondir",
        ".git/modules/x/config",
        ".git/worktrees/x/gitdir",
        "config_link",
        "git_link/config",
        "git_link/hooks/pre-commit",
        "hooks_link/pre-commit",
        "hooks_link/new/deep",
        "real/.git/config",
        "real/.git/hooks/post-checkout",
        "new/.git/hooks/pre-commit",
        "new/.git",
        "real/.git",
        ".git\u{200d}/config",
        ".g\u{ad}it/config",
    ]
    .map(String::from)
    .into();
    paths.push(outside.to_str().unwrap().to_owned());
    paths.push("x".repeat(256));
    paths.push("x/".repeat(2_100) + "x");
    paths.push("../".repeat(400) + "etc/passwd");
    paths.push("real/../".repeat(100) + "../secret");
    paths
}

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
        match path.is_dir() {
            true => collect(&path, found),
            false => found.push((path.display().to_string(), fs::read(&path).unwrap())),
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
    assert!(paths.len() > 140, "{} paths", paths.len());
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
    for absent in [
        "info",
        "commondir",
        "config.worktree",
        "modules",
        "worktrees",
    ] {
        assert!(!git.join(absent).exists(), "{absent}");
    }
    assert!(!lab.files().join("new/.git").exists());
    assert!(!lab.files().join("real/.git").exists());
}
