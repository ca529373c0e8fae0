//! `chorus permissions check`: a profile tried out, without home or token.

use std::io::Write;
use std::process::{Command, Stdio};

use super::program::chorus;

fn judge(arguments: &[&str], actions: &str) -> (i32, String, String) {
    let home = tempfile::tempdir().unwrap();
    let mut command: Command = chorus(home.path(), &["permissions", "check"]);
    command
        .args(arguments)
        .env_remove("HOME")
        .env_remove("CHORUS_HOME");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(actions.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn each_line_gets_its_decision() {
    let (code, out, _) = judge(
        &["--profile", "standard"],
        "tool:view:src/main.rs\ntool:bash:ls\nnonsense\n\"tool:bash:echo a\\necho b\"\n",
    );
    assert_eq!(code, 0);
    let decisions: Vec<&str> = out
        .lines()
        .map(|line| line.split('\t').next().unwrap())
        .collect();
    assert_eq!(decisions, ["allow", "ask", "deny", "ask"]);
}

#[test]
fn json_names_action_decision_and_reason() {
    let (_, out, _) = judge(&["--profile", "locked", "--json"], "tool:bash:ls\n");
    let answer: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(answer["action"], "tool:bash:ls");
    assert_eq!(answer["decision"], "deny");
    assert!(answer["reason"].is_string());
}

#[test]
fn a_file_is_a_profile_too_and_its_mistakes_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.json");
    std::fs::write(&path, r#"{ "allow": ["tool:view:docs/.*"], "ask": [] }"#).unwrap();
    let (_, out, _) = judge(
        &["--profile", path.to_str().unwrap()],
        "tool:view:docs/a\ntool:view:b\n",
    );
    assert!(out.starts_with("allow\t"), "{out}");
    assert!(out.contains("\ndeny\t"), "{out}");
    std::fs::write(&path, r#"{ "alow": [] }"#).unwrap();
    let (code, _, err) = judge(&["--profile", path.to_str().unwrap()], "");
    assert_eq!(code, 78);
    assert!(err.contains("mine.json") && err.contains("alow"), "{err}");
}

#[test]
fn a_name_that_is_no_profile_is_78() {
    let (code, _, err) = judge(&["--profile", "standrad"], "");
    assert_eq!(code, 78);
    assert!(err.contains("standard"), "{err}");
}
