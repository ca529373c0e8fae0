//! Repositories that lead elsewhere: each git tool refuses them, and nothing outside is read, written or run.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use git2::Repository;
use serde_json::json;

use super::lab::Lab;

const CANARY: &str = "canary-2f90";

/// A repository outside, with a secret in its history and one beside it.
fn outside(lab: &Lab) -> PathBuf {
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

/// Makes the workspace's repository hostile.
type Trap = fn(git: &Path, outside: &Path);

fn add_config(git: &Path, text: &str) {
    let path = git.join("config");
    let before = fs::read_to_string(&path).unwrap();
    fs::write(path, before + text).unwrap();
}

fn replace_with_link(path: &Path, target: &Path) {
    if path.is_dir() {
        fs::remove_dir_all(path).unwrap();
    } else {
        drop(fs::remove_file(path));
    }
    symlink(target, path).unwrap();
}

const TRAPS: [(&str, Trap); 32] = [
    ("core.worktree", |git, outside| {
        add_config(
            git,
            &format!("[core]\n\tworktree = {}\n", outside.display()),
        )
    }),
    ("worktree beside the header", |git, outside| {
        add_config(git, &format!("[core] worktree = {}\n", outside.display()))
    }),
    ("quoted value", |git, outside| {
        add_config(
            git,
            &format!(
                "[core]\n\tbare = \"false\" \\\n worktree = {}\n",
                outside.display()
            ),
        )
    }),
    ("include", |git, outside| {
        add_config(
            git,
            &format!("[include]\n\tpath = {}/secret\n", outside.display()),
        )
    }),
    ("includeIf", |git, outside| {
        add_config(
            git,
            &format!(
                "[includeIf \"gitdir:/\"]\n\tpath = {}/secret\n",
                outside.display()
            ),
        )
    }),
    ("url.insteadOf", |git, _| {
        add_config(
            git,
            "[url \"https://evil.example/\"]\n\tinsteadOf = https://github.com/\n",
        )
    }),
    ("remote.pushurl", |git, _| {
        add_config(
            git,
            "[remote \"origin\"]\n\tpushurl = https://evil.example/\n",
        )
    }),
    ("remote.proxy", |git, _| {
        add_config(git, "[remote \"origin\"]\n\tproxy = http://evil.example/\n")
    }),
    ("credential.helper", |git, outside| {
        add_config(
            git,
            &format!(
                "[credential]\n\thelper = !touch {}/ran\n",
                outside.display()
            ),
        )
    }),
    ("core.fsmonitor", |git, outside| {
        add_config(
            git,
            &format!("[core]\n\tfsmonitor = touch {}/ran\n", outside.display()),
        )
    }),
    ("core.hooksPath", |git, outside| {
        add_config(
            git,
            &format!("[core]\n\thooksPath = {}\n", outside.display()),
        )
    }),
    ("core.sshCommand", |git, outside| {
        add_config(
            git,
            &format!("[core]\n\tsshCommand = touch {}/ran\n", outside.display()),
        )
    }),
    ("core.attributesFile", |git, outside| {
        add_config(
            git,
            &format!("[core]\n\tattributesFile = {}/secret\n", outside.display()),
        )
    }),
    ("core.excludesFile", |git, outside| {
        add_config(
            git,
            &format!("[core]\n\texcludesFile = {}/secret\n", outside.display()),
        )
    }),
    ("filter", |git, outside| {
        add_config(
            git,
            &format!(
                "[filter \"x\"]\n\tclean = touch {}/ran\n",
                outside.display()
            ),
        )
    }),
    ("http.proxy", |git, _| {
        add_config(git, "[http]\n\tproxy = http://evil.example/\n")
    }),
    ("extensions.worktreeConfig", |git, _| {
        add_config(git, "[extensions]\n\tworktreeConfig = true\n")
    }),
    ("config.worktree", |git, outside| {
        fs::write(
            git.join("config.worktree"),
            format!("[core]\n\tworktree = {}\n", outside.display()),
        )
        .unwrap()
    }),
    ("config as a link", |git, outside| {
        replace_with_link(&git.join("config"), &outside.join(".git/config"))
    }),
    ("config as a pipe", |git, _| {
        fs::remove_file(git.join("config")).unwrap();
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
        rustix::fs::mknodat(rustix::fs::CWD, git.join("config"), kind, mode, 0).unwrap();
    }),
    ("huge config", |git, _| {
        add_config(git, &"# \n".repeat(40_000))
    }),
    ("alternates", |git, outside| {
        fs::create_dir_all(git.join("objects/info")).unwrap();
        fs::write(
            git.join("objects/info/alternates"),
            format!("{}\n", outside.join(".git/objects").display()),
        )
        .unwrap();
    }),
    ("commondir", |git, outside| {
        fs::write(
            git.join("commondir"),
            outside.join(".git").to_str().unwrap(),
        )
        .unwrap()
    }),
    ("objects as a link", |git, outside| {
        replace_with_link(&git.join("objects"), &outside.join(".git/objects"))
    }),
    ("refs as a link", |git, outside| {
        replace_with_link(&git.join("refs"), &outside.join(".git/refs"))
    }),
    ("heads as a link", |git, outside| {
        replace_with_link(&git.join("refs/heads"), &outside.join(".git/refs/heads"))
    }),
    ("HEAD as a link", |git, outside| {
        replace_with_link(&git.join("HEAD"), &outside.join(".git/HEAD"))
    }),
    ("index as a link", |git, outside| {
        replace_with_link(&git.join("index"), &outside.join(".git/index"))
    }),
    ("info as a link", |git, outside| {
        replace_with_link(&git.join("info"), outside)
    }),
    (".git as a link", |git, outside| {
        replace_with_link(git, &outside.join(".git"))
    }),
    (".git as a file", |git, outside| {
        fs::remove_dir_all(git).unwrap();
        fs::write(git, format!("gitdir: {}\n", outside.join(".git").display())).unwrap();
    }),
    (".git gone, a repository above", |git, _| {
        fs::remove_dir_all(git).unwrap();
        chorus::workspace::repository::init(git.parent().unwrap().parent().unwrap()).unwrap();
    }),
];

/// All files below `folder` with what is in them.
fn everything(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(everything(&path)),
            false => found.push((path.clone(), fs::read(&path).unwrap())),
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn no_hostile_repository_is_used() {
    for (trap, set) in TRAPS {
        let lab = Lab::new();
        lab.does("git_init", json!({})).await;
        lab.does("git_commit", json!({"message": "Begin"})).await;
        let outside = outside(&lab);
        set(&lab.files().join(".git"), &outside);
        lab.write("new.txt", "new\n");
        let before = everything(&outside);
        for (tool, arguments) in [
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
        ] {
            let told = lab.refuses(tool, arguments).await;
            assert!(!told.contains(CANARY), "{trap}, {tool}: {told}");
            let is_named =
                told.contains("is not used as it is") || told.contains("is no repository");
            assert!(is_named, "{trap}, {tool}: {told}");
        }
        assert_eq!(everything(&outside), before, "{trap}");
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
