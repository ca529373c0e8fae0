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
    // What is refused for its arguments ends without having read a line.
    let _ = child.stdin.take().unwrap().write_all(actions.as_bytes());
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
fn each_json_line_gets_one_and_none_stops_the_rest() {
    let lines = [
        (r#"{"action": "tool:bash:ls"}"#, "ask"),
        (r#"{"tool": "bash", "arguments": {"command": "ls"}}"#, "ask"),
        (
            r#"{"tool": "view", "arguments": {"path": "src/./main.rs"}}"#,
            "allow",
        ),
        (r#"{"tool": "list_models"}"#, "allow"),
        (r#"{"action": "nonsense"}"#, "deny"),
        (r#"{"action": 7}"#, "deny"),
        (r#"{"tool": "no_such_tool", "arguments": {}}"#, "deny"),
        (r#"{"tool": "bash", "arguments": {"command": 7}}"#, "deny"),
        (r#"{"tool": "bash", "arguments": "ls"}"#, "deny"),
        (r#"{"tool": "bash", "arguments": {}}"#, "deny"),
        (
            r#"{"tool": "view", "arguments": {"path": "a", "is_admin": true}}"#,
            "allow",
        ),
        (
            r#"{"tool": "view", "arguments": {"path": "../../etc/passwd"}}"#,
            "allow",
        ),
        (r#"{"action": "tool:bash:ls", "tool": "bash"}"#, "deny"),
        (
            r#"{"action": "tool:bash:ls", "always_allow": ["tool:bash:ls"]}"#,
            "allow",
        ),
        ("not json", "deny"),
        ("[]", "deny"),
        ("{", "deny"),
        ("\u{FFFD}", "deny"),
    ];
    let input: String = lines.iter().map(|(line, _)| format!("{line}\n")).collect();
    let (code, out, _) = judge(&["--profile", "standard", "--json"], &input);
    assert_eq!(code, 0);
    let answers: Vec<serde_json::Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), lines.len());
    for ((line, expected), answer) in lines.iter().zip(&answers) {
        assert_eq!(answer["decision"], *expected, "{line}: {answer}");
        assert!(!answer["reason"].as_str().unwrap().is_empty());
    }
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
    let twice = "{ \"allow\": [\"tool:.*\"], \"ask\": [],\n  \"deny\": [\"tool:bash:.*\"],\n  \"deny\": [] }";
    std::fs::write(&path, twice).unwrap();
    let (code, _, err) = judge(&["--profile", path.to_str().unwrap()], "tool:bash:ls\n");
    assert_eq!(code, 78);
    assert!(
        err.contains("the key `deny` stands twice") && err.contains("line 3"),
        "{err}"
    );
}

#[test]
fn a_name_that_is_no_profile_is_78() {
    let (code, _, err) = judge(&["--profile", "standrad"], "");
    assert_eq!(code, 78);
    assert!(err.contains("standard"), "{err}");
}

#[test]
fn of_several_profiles_the_strictest_decides() {
    let action = r#"{"action": "tool:bash:ls", "always_allow": ["tool:bash:ls"]}"#;
    let judged = |profiles: &[&str]| {
        let mut arguments = vec!["--json"];
        arguments.extend(profiles.iter().flat_map(|name| ["--profile", name]));
        judge(&arguments, action).1
    };
    assert!(judged(&["standard"]).contains("\"allow\""));
    let both = judged(&["standard", "locked"]);
    assert!(
        both.contains("\"deny\"") && both.contains("`locked`: "),
        "{both}"
    );
    assert!(judged(&["standard", "standard"]).contains("\"ask\""));
    let (code, _, err) = judge(&[], "");
    assert!(code == 64 || code == 2, "{code}: {err}");
}

/// An agent may have written it where the operator works.
#[test]
fn no_file_of_the_working_directory_takes_the_place_of_a_built_in_profile() {
    let folder = tempfile::tempdir().unwrap();
    let all = r#"{"allow": [".*"], "ask": [], "deny": []}"#;
    for name in ["locked", "own"] {
        std::fs::write(folder.path().join(name), all).unwrap();
    }
    for (profile, expected) in [("locked", "deny"), ("./locked", "allow"), ("own", "allow")] {
        let mut child = chorus(
            folder.path(),
            &["permissions", "check", "--profile", profile],
        )
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(b"tool:bash:rm x\n").unwrap();
        drop(input);
        let output = child.wait_with_output().unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        assert!(out.starts_with(expected), "{profile}: {out}");
    }
}
