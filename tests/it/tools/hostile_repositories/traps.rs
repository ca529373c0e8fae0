//! Repositories that are refused: what in them leads elsewhere, or cannot be read in good time and space.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use git2::{Oid, Repository};

/// Makes the workspace's repository hostile.
pub(in crate::tools) type Trap = fn(git: &Path, outside: &Path);

/// Files and folders; what a configuration says stands in `config`.
pub(in crate::tools) const TRAPS: &[(&str, Trap)] = &[
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
        make_pipe(&git.join("config"));
    }),
    ("huge config", |git, _| {
        fs::write(git.join("config"), "# \n".repeat(400_000)).unwrap()
    }),
    ("config that is not text", |git, _| {
        fs::write(git.join("config"), b"\xff\xfe[\0c\0").unwrap()
    }),
    ("config as a folder", |git, _| {
        fs::remove_file(git.join("config")).unwrap();
        fs::create_dir(git.join("config")).unwrap();
    }),
    ("huge index", |git, _| make_sparse(&git.join("index"))),
    ("huge packed-refs", |git, _| {
        make_sparse(&git.join("packed-refs"))
    }),
    ("huge HEAD", |git, _| make_sparse(&git.join("HEAD"))),
    ("huge branch", |git, _| {
        make_sparse(&git.join("refs/heads/main"))
    }),
    ("huge object", |git, _| {
        fs::create_dir_all(git.join("objects/aa")).unwrap();
        make_sparse(&git.join("objects/aa").join("b".repeat(38)));
    }),
    ("a bomb among the objects", |git, _| {
        bomb(&Repository::open(git.parent().unwrap()).unwrap());
    }),
    ("endless folders", |git, _| {
        fs::create_dir_all(git.join("refs/heads").join("d/".repeat(100))).unwrap()
    }),
    ("a pipe among the branches", |git, _| {
        make_pipe(&git.join("refs/heads/p"))
    }),
    ("a pipe for HEAD", |git, _| {
        fs::remove_file(git.join("HEAD")).unwrap();
        make_pipe(&git.join("HEAD"));
    }),
    ("packed-refs as a link", |git, outside| {
        replace_with_link(&git.join("packed-refs"), &outside.join("secret"))
    }),
    ("a module as a link", |git, outside| {
        fs::create_dir(git.join("modules")).unwrap();
        symlink(outside.join(".git"), git.join("modules/x")).unwrap();
    }),
    ("alternates", |git, outside| {
        fs::create_dir_all(git.join("objects/info")).unwrap();
        fs::write(
            git.join("objects/info/alternates"),
            format!("{}\n", outside.join(".git/objects").display()),
        )
        .unwrap();
    }),
    ("http alternates", |git, outside| {
        fs::create_dir_all(git.join("objects/info")).unwrap();
        let objects = outside.join(".git/objects");
        fs::write(
            git.join("objects/info/http-alternates"),
            objects.to_str().unwrap(),
        )
        .unwrap();
    }),
    ("gitdir", |git, outside| {
        fs::write(git.join("gitdir"), outside.join(".git").to_str().unwrap()).unwrap()
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
    (
        ".git as a worktree of a repository outside",
        |git, outside| {
            fs::remove_dir_all(git).unwrap();
            let elsewhere = outside.parent().unwrap().join("tree");
            Repository::open(outside)
                .unwrap()
                .worktree("tree", &elsewhere, None)
                .unwrap();
            fs::rename(elsewhere.join(".git"), git).unwrap();
        },
    ),
    (".git as a pipe", |git, _| {
        fs::remove_dir_all(git).unwrap();
        make_pipe(git);
    }),
    (".git gone, a repository above", |git, _| {
        fs::remove_dir_all(git).unwrap();
        chorus::workspace::repository::init(git.parent().unwrap().parent().unwrap()).unwrap();
    }),
];

fn replace_with_link(path: &Path, target: &Path) {
    if path.is_dir() {
        fs::remove_dir_all(path).unwrap();
    } else {
        drop(fs::remove_file(path));
    }
    symlink(target, path).unwrap();
}

/// Zeros that take a thousandth of their room until they are unpacked.
pub(super) fn bomb(git: &Repository) -> Oid {
    git.blob(&vec![0; 520 << 20]).unwrap()
}

fn make_pipe(path: &Path) {
    let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
    rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0).unwrap();
}

/// A hundred gigabytes that take no room on disk.
fn make_sparse(path: &Path) {
    let file = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .unwrap();
    file.set_len(100 << 30).unwrap();
}
