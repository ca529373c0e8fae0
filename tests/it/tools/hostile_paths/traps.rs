//! Links and special files that lead out, nowhere, round, or to what is protected.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use super::CANARY;
use crate::tools::lab::Lab;

/// Links and special files to try; each leads out, nowhere, round, or to what is protected.
pub(super) fn set_traps(lab: &Lab) {
    let inside = lab.files();
    let outside = lab.home.path().join("outside");
    fs::create_dir_all(outside.join("deep")).unwrap();
    fs::write(outside.join("secret"), CANARY).unwrap();
    fs::write(outside.join("deep/secret"), CANARY).unwrap();
    fs::write(lab.home.path().join("agents/ada/workspace/secret"), CANARY).unwrap();
    fs::write(lab.home.path().join("agents/lab/secret"), CANARY).unwrap();
    fs::create_dir_all(inside.join("real/sub")).unwrap();
    fs::create_dir_all(inside.join("sub")).unwrap();
    fs::write(inside.join("real/file"), "inside").unwrap();
    fs::create_dir_all(inside.join(".git/hooks")).unwrap();
    fs::create_dir_all(inside.join(".git/objects/info")).unwrap();
    fs::write(inside.join(".git/config"), "[core]\n").unwrap();
    let links: Vec<(&str, PathBuf)> = vec![
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
        ("proc_root", "/proc/self/root".into()),
        (
            "rel_proc",
            format!("{}proc/self/root/etc", "../".repeat(40)).into(),
        ),
        ("pids", "/proc/1".into()),
        ("self", ".".into()),
        ("above", "real/..".into()),
        ("far_above", "real/../..".into()),
        ("slashed", "../../../outside/".into()),
        ("real/round", "../real".into()),
        ("long", "x/".repeat(2_000).into()),
        ("latin", OsStr::from_bytes(b"real/caf\xe9").into()),
        (
            "latin_out",
            OsStr::from_bytes(b"../caf\xe9/../secret").into(),
        ),
        ("strange", "real/a\nb".into()),
        ("index_link", ".git/../.git/info".into()),
        ("sub/.git", outside.clone()),
        ("stdin", "/dev/stdin".into()),
    ];
    for (name, target) in links {
        symlink(target, inside.join(name)).unwrap();
    }
    fs::write(inside.join(OsStr::from_bytes(b"real/caf\xe9")), "inside").unwrap();
    fs::write(inside.join("real/a\nb"), "inside").unwrap();
    for n in 0..60 {
        let next = match n {
            59 => outside.join("secret"),
            n => format!("step_{}", n + 1).into(),
        };
        symlink(next, inside.join(format!("step_{n}"))).unwrap();
    }
    let sparse = fs::File::create(inside.join("sparse")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    for name in ["pipe", "real/pipe"] {
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
        rustix::fs::mknodat(rustix::fs::CWD, inside.join(name), kind, mode, 0).unwrap();
    }
    // Only root can; without it the row is a name that is not there.
    let (kind, mode) = (
        rustix::fs::FileType::CharacterDevice,
        rustix::fs::Mode::RWXU,
    );
    let zero = rustix::fs::makedev(1, 5);
    let _ = rustix::fs::mknodat(rustix::fs::CWD, inside.join("device"), kind, mode, zero);
    // Kept open by nobody: opening it says so at once.
    std::os::unix::net::UnixListener::bind(inside.join("socket")).unwrap();
}
