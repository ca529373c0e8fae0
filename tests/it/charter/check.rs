//! `chorus charter check`: without home or token.

use serde_json::{Value, json};

use crate::cli::program::chorus;

fn check(files: &[(&str, &str)], options: &[&str]) -> (i32, String) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let mut command = chorus(folder.path(), &["charter", "check"]);
    command
        .args(options)
        .args(files.iter().map(|(name, _)| name))
        .current_dir(folder.path())
        .env_remove("HOME")
        .env_remove("CHORUS_HOME");
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (output.status.code().unwrap(), text)
}

const GOOD: &str = "---\nname: a\ndescription: b\n---\nc";
const BAD: &str = "---\nname: a\ntools: [gerp]\n---\nc";

#[test]
fn people_get_each_problem_with_its_line() {
    let (code, out) = check(&[("good.md", GOOD), ("bad.md", BAD)], &[]);
    assert_eq!(code, 1);
    assert_eq!(
        out,
        "good.md: OK (role a)
bad.md: description: there is none; write one line that says what the role is for
bad.md, line 3: tools: there is no tool `gerp`; did you mean `grep`?
bad.md, line 3: tools: nothing of this list is left: Chorus has no `gerp`; name a tool of Chorus, or write `[]` for none
"
    );
    assert_eq!(check(&[("good.md", GOOD)], &[]).0, 0);
}

#[test]
fn a_file_of_a_repository_is_read_leniently() {
    let odd = "---\nname: a\ndescription: b\nsparkle: 1\n---\nc";
    assert_eq!(check(&[("odd.md", odd)], &[]).0, 1);
    assert_eq!(check(&[("odd.md", odd)], &["--repository"]).0, 0);
    let (code, out) = check(&[(".claude/agents/odd.md", odd)], &[]);
    assert_eq!(code, 0);
    assert!(out.contains("line 4: note: sparkle"), "{out}");
}

#[test]
fn scripts_get_json() {
    let (code, out) = check(&[("good.md", GOOD), ("bad.md", BAD)], &["--json"]);
    assert_eq!(code, 1);
    let out: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        out["files"][0],
        json!({"path": "good.md", "ok": true, "name": "a", "problems": [], "notes": []})
    );
    assert_eq!(
        out["files"][1]["problems"][1],
        json!({"line": 3, "key": "tools", "message": "there is no tool `gerp`", "instead": "did you mean `grep`?"})
    );
}

#[test]
fn each_file_of_a_folder_is_explained_in_a_line() {
    let files = [
        (
            "agents/look.md",
            "---\nname: look\ndescription: b\ntools: Read, Grep\n---\nc",
        ),
        (
            "agents/deep/all.md",
            "---\nname: all\ndescription: b\ndisallowedTools: WebFetch\n---\nc",
        ),
        (
            "agents/old.md",
            "---\nname: old\ndescription: b\ncolor: red\ntools: []\n---\nc",
        ),
        ("agents/bad.md", BAD),
        ("agents/notes.txt", "no role"),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let mut command = chorus(folder.path(), &["charter", "check", "agents"]);
    let output = command.current_dir(folder.path()).output().unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "agents/bad.md: description: there is none; write one line that says what the role is for (2 more problems)
agents/deep/all.md: OK (role all, all tools except web_fetch)
agents/look.md: OK (role look, tools grep, view)
agents/old.md: OK (role old, no tools, 1 note)
"
    );
    assert_eq!(output.status.code(), Some(1));
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    let mut command = chorus(folder.path(), &["charter", "check", "empty"]);
    let output = command.current_dir(folder.path()).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        said.contains("empty: there is no Markdown file in this folder"),
        "{said}"
    );
}

#[test]
fn what_is_no_regular_file_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/etc/hostname", folder.path().join("link.md")).unwrap();
    let pipe = folder.path().join("pipe.md");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    for name in ["link.md", "pipe.md", "."] {
        let mut command = chorus(folder.path(), &["charter", "check", name]);
        let output = command.current_dir(folder.path()).output().unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        assert!(out.contains("this is not a regular file"), "{name}: {out}");
    }
}
