//! Repositories that may be used, or may turn out to be broken: either way nothing outside is read, written or run, and what
//! git runs stays as it is.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;

use git2::{ObjectType, Oid, Repository};
use serde_json::json;

use super::traps::bomb;
use super::{CANARY, calls, everything, lab_and_outside};
use crate::tools::lab::Lab;

/// Makes the workspace's repository strange.
type Oddity = fn(files: &Path, outside: &Path);

const ODDITIES: &[(&str, Oddity)] = &[
    ("HEAD leads out", |files, _| {
        fs::write(
            files.join(".git/HEAD"),
            "ref: ../../../../outside/.git/HEAD\n",
        )
        .unwrap()
    }),
    ("HEAD leads out below refs", |files, _| {
        let target = "ref: refs/heads/../../../../../../outside/.git/refs/heads/main\n";
        fs::write(files.join(".git/HEAD"), target).unwrap()
    }),
    ("HEAD leads to itself", |files, _| {
        fs::write(files.join(".git/HEAD"), "ref: HEAD\n").unwrap()
    }),
    ("HEAD is empty", |files, _| {
        fs::write(files.join(".git/HEAD"), "").unwrap()
    }),
    ("HEAD is not text", |files, _| {
        fs::write(files.join(".git/HEAD"), b"\xff\0\xfe").unwrap()
    }),
    ("HEAD is nobody's commit", |files, _| {
        fs::write(files.join(".git/HEAD"), "0".repeat(40)).unwrap()
    }),
    ("a branch leads to its own branch", |files, _| {
        fs::write(files.join(".git/refs/heads/main"), "ref: refs/heads/main\n").unwrap()
    }),
    ("a branch is a commit of somebody else", |files, outside| {
        let theirs = Repository::open(outside)
            .unwrap()
            .head()
            .unwrap()
            .target()
            .unwrap();
        fs::write(files.join(".git/refs/heads/theirs"), format!("{theirs}\n")).unwrap();
    }),
    ("packed-refs is garbage", |files, _| {
        fs::write(
            files.join(".git/packed-refs"),
            b"# pack-refs with: peeled\n\xff\xff x\n^\n",
        )
        .unwrap()
    }),
    ("packed-refs names what is outside", |files, _| {
        let line = format!("{} refs/heads/../../../outside/x\n", "1".repeat(40));
        fs::write(files.join(".git/packed-refs"), line).unwrap()
    }),
    ("the index is garbage", |files, _| {
        fs::write(
            files.join(".git/index"),
            b"DIRC\0\0\0\x02\xff\xff\xff\xff garbage",
        )
        .unwrap()
    }),
    ("the index ends early", |files, _| {
        let index = fs::read(files.join(".git/index")).unwrap();
        fs::write(files.join(".git/index"), &index[..index.len() / 2]).unwrap()
    }),
    ("an object is garbage", |files, _| {
        let head = fs::read_to_string(files.join(".git/refs/heads/main")).unwrap();
        let path = files
            .join(".git/objects")
            .join(&head[..2])
            .join(head[2..].trim());
        fs::remove_file(&path).unwrap();
        fs::write(path, b"x\x9cgarbage").unwrap()
    }),
    ("a pack is garbage", |files, _| {
        let pack = files.join(".git/objects/pack");
        fs::create_dir_all(&pack).unwrap();
        let name = format!("pack-{}", "a".repeat(40));
        fs::write(
            pack.join(format!("{name}.pack")),
            b"PACK\0\0\0\x02\xff\xff\xff\xff",
        )
        .unwrap();
        fs::write(
            pack.join(format!("{name}.idx")),
            b"\xfftOc\0\0\0\x02garbage",
        )
        .unwrap();
        fs::write(pack.join("multi-pack-index"), b"MIDX garbage").unwrap();
    }),
    ("the commit graph is garbage", |files, _| {
        let info = files.join(".git/objects/info");
        fs::create_dir_all(&info).unwrap();
        fs::write(info.join("commit-graph"), b"CGPH\x01\x01\xff\xffgarbage").unwrap()
    }),
    ("commits are replaced", |files, outside| {
        let own = Repository::open(files)
            .unwrap()
            .head()
            .unwrap()
            .target()
            .unwrap();
        let theirs = Repository::open(outside)
            .unwrap()
            .head()
            .unwrap()
            .target()
            .unwrap();
        fs::create_dir_all(files.join(".git/refs/replace")).unwrap();
        fs::write(
            files.join(format!(".git/refs/replace/{own}")),
            format!("{theirs}\n"),
        )
        .unwrap();
        fs::write(files.join(".git/shallow"), format!("{theirs}\n")).unwrap();
        fs::create_dir_all(files.join(".git/info")).unwrap();
        fs::write(files.join(".git/info/grafts"), format!("{own} {theirs}\n")).unwrap();
    }),
    ("a worktree lies outside", |files, outside| {
        let admin = files.join(".git/worktrees/x");
        fs::create_dir_all(&admin).unwrap();
        fs::write(
            admin.join("gitdir"),
            format!("{}\n", outside.join(".git").display()),
        )
        .unwrap();
        fs::write(
            admin.join("commondir"),
            format!("{}\n", outside.join(".git").display()),
        )
        .unwrap();
        fs::write(admin.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    }),
    ("submodules run something", |files, outside| {
        let text = format!(
            "[submodule \"x\"]\n\tpath = ../../../outside\n\turl = -oProxyCommand=touch\\ {0}/ran\n\tupdate = !touch {0}/ran\n\
             [submodule \"../../hooks\"]\n\tpath = x\n\turl = ext::sh -c touch% {0}/ran\n",
            outside.display()
        );
        fs::write(files.join(".gitmodules"), text).unwrap()
    }),
    ("a module is configured", |files, outside| {
        let module = files.join(".git/modules/x");
        fs::create_dir_all(&module).unwrap();
        let text = format!(
            "[core]\n\tworktree = {0}\n\tfsmonitor = touch {0}/ran\n",
            outside.display()
        );
        fs::write(module.join("config"), text).unwrap()
    }),
    (
        "a repository inside leads out by a file",
        |files, outside| {
            fs::create_dir(files.join("sub")).unwrap();
            let text = format!("gitdir: {}\n", outside.join(".git").display());
            fs::write(files.join("sub/.git"), text).unwrap()
        },
    ),
    (
        "a repository inside leads out by a link",
        |files, outside| {
            fs::create_dir(files.join("sub")).unwrap();
            symlink(outside.join(".git"), files.join("sub/.git")).unwrap()
        },
    ),
    ("a repository inside is hostile", |files, outside| {
        let sub = files.join("sub");
        fs::create_dir(&sub).unwrap();
        chorus::workspace::repository::init(&sub).unwrap();
        let text = format!(
            "[core]\n\trepositoryformatversion = 0\n\tworktree = {0}\n\tfsmonitor = touch {0}/ran\n\thooksPath = {0}\n[include]\n\tpath = {0}/secret\n",
            outside.display()
        );
        fs::write(sub.join(".git/config"), text).unwrap();
        fs::write(sub.join("a.txt"), "a").unwrap();
    }),
    ("attributes name programs", |files, _| {
        let text = "* filter=evil diff=evil merge=evil text=auto ident working-tree-encoding=UTF-16\n[attr]evil filter=x\n";
        fs::write(files.join(".gitattributes"), text).unwrap();
        fs::create_dir_all(files.join(".git/info")).unwrap();
        fs::write(files.join(".git/info/attributes"), text).unwrap();
    }),
    (
        "attributes and ignored names lie outside",
        |files, outside| {
            symlink(outside.join("secret"), files.join(".gitattributes")).unwrap();
            symlink(outside.join("secret"), files.join(".gitignore")).unwrap();
            symlink(outside.join("secret"), files.join(".mailmap")).unwrap();
        },
    ),
];

#[tokio::test]
async fn strange_repositories_do_no_harm() {
    for (oddity, set) in ODDITIES {
        let (lab, outside) = lab_and_outside().await;
        set(&lab.files(), &outside);
        lab.write("new.txt", "new\n");
        let before = everything(&outside);
        for (tool, arguments) in calls() {
            let result = lab.call(tool, arguments).await;
            let told = &result.content;
            assert!(!told.contains(CANARY), "{oddity}, {tool}: {told}");
            assert!(!told.contains("this is a bug"), "{oddity}, {tool}: {told}");
        }
        assert_eq!(everything(&outside), before, "{oddity}");
    }
}

/// Writes a tree as bytes, for git2 refuses to make such ones.
fn tree(git: &Repository, entries: &[(&str, &str, Oid)]) -> Oid {
    let mut bytes = Vec::new();
    for (mode, name, id) in entries {
        bytes.extend_from_slice(format!("{mode} {name}\0").as_bytes());
        bytes.extend_from_slice(id.as_bytes());
    }
    git.odb().unwrap().write(ObjectType::Tree, &bytes).unwrap()
}

/// Puts a commit with `root` as its tree on the branch `evil`.
fn commit(git: &Repository, root: Oid) {
    let who = "A <a@example.org> 1700000000 +0000";
    let text = format!("tree {root}\nauthor {who}\ncommitter {who}\n\nEvil\n");
    let id = git
        .odb()
        .unwrap()
        .write(ObjectType::Commit, text.as_bytes())
        .unwrap();
    git.reference("refs/heads/evil", id, true, "").unwrap();
}

/// What git would run or believe, and what stands outside, as it is now.
fn decisive(lab: &Lab, outside: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let git = lab.files().join(".git");
    let mut all = everything(outside);
    all.push(("config".into(), fs::read(git.join("config")).unwrap()));
    for folder in ["hooks", "info"] {
        if git.join(folder).is_dir() {
            all.extend(everything(&git.join(folder)));
        }
    }
    all
}

#[tokio::test]
async fn no_checkout_writes_where_a_name_in_a_tree_leads() {
    for name in [
        "..",
        ".",
        ".git",
        ".GIT",
        ".Git",
        ".git ",
        ".git.",
        "git~1",
        "GIT~1",
        ".git::$INDEX_ALLOCATION",
        ".g\u{200c}it",
        "../../../outside",
        "a/../../b",
        "/tmp",
        "",
        "C:x",
        "a\\..\\..\\b",
    ] {
        let (lab, outside) = lab_and_outside().await;
        let git = Repository::open(lab.files()).unwrap();
        let blob = git.blob(b"#!/bin/sh\ntouch ran\n").unwrap();
        let hooks = tree(&git, &[("100755", "pre-commit", blob)]);
        let inner = tree(
            &git,
            &[
                ("100644", "config", blob),
                ("40000", "hooks", hooks),
                ("100644", "secret", blob),
            ],
        );
        let root = tree(&git, &[("40000", name, inner)]);
        commit(&git, root);
        let before = decisive(&lab, &outside);
        let result = lab.call("git_checkout", json!({"ref": "evil"})).await;
        assert_eq!(
            decisive(&lab, &outside),
            before,
            "{name:?}: {}",
            result.content
        );
        lab.call("git_diff", json!({"ref1": "main", "ref2": "evil"}))
            .await;
        lab.call("git_log", json!({})).await;
    }
}

#[tokio::test]
async fn no_checkout_writes_through_a_link_that_it_made() {
    let (lab, outside) = lab_and_outside().await;
    let git = Repository::open(lab.files()).unwrap();
    let target = git.blob(outside.to_str().unwrap().as_bytes()).unwrap();
    let blob = git.blob(b"written\n").unwrap();
    let inner = tree(&git, &[("100644", "secret", blob)]);
    // The same name twice: first a link that leads out, then a folder with a file.
    let root = tree(
        &git,
        &[("120000", "link", target), ("40000", "link", inner)],
    );
    commit(&git, root);
    let before = decisive(&lab, &outside);
    lab.call("git_checkout", json!({"ref": "evil"})).await;
    assert_eq!(decisive(&lab, &outside), before);

    let linked = tree(&git, &[("120000", "link", target)]);
    commit(&git, linked);
    lab.call("git_checkout", json!({"ref": "evil"})).await;
    let folder = tree(&git, &[("40000", "link", inner)]);
    commit(&git, folder);
    lab.call("git_checkout", json!({"ref": "main"})).await;
    symlink(&outside, lab.files().join("link")).ok();
    lab.call("git_checkout", json!({"ref": "evil"})).await;
    assert_eq!(decisive(&lab, &outside), before);
}

#[tokio::test]
async fn no_checkout_unpacks_a_bomb() {
    let (lab, _) = lab_and_outside().await;
    let git = Repository::open(lab.files()).unwrap();
    let blob = bomb(&git);
    commit(&git, tree(&git, &[("100644", "zeros", blob)]));
    // In a pack nobody sees how large it is.
    let mut builder = git.packbuilder().unwrap();
    builder.insert_object(blob, None).unwrap();
    let mut pack = git2::Buf::new();
    builder.write_buf(&mut pack).unwrap();
    let odb = git.odb().unwrap();
    let mut writer = odb.packwriter().unwrap();
    writer.write_all(&pack).unwrap();
    writer.commit().unwrap();
    let name = blob.to_string();
    let loose = lab.files().join(".git/objects").join(&name[..2]);
    fs::remove_file(loose.join(&name[2..])).unwrap();
    let why = lab.refuses("git_checkout", json!({"ref": "evil"})).await;
    assert!(
        why.starts_with(
            "`zeros` has 520.0 MiB there, more than the 256.0 MiB that this tool writes"
        ),
        "{why}"
    );
    lab.does("git_diff", json!({"ref1": "main", "ref2": "evil"}))
        .await;
    lab.does("git_status", json!({})).await;
}
