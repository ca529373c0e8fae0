//! `chorus doctor --program`: a program is started in its sandbox without a provider, and what it does is told.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::PROGRAM;
use crate::cli::program::{chorus, seen};

/// A key of the operator, which no program may see.
const CANARY: &str = "sk-ant-canary-51d0ab";

/// A home whose `config.json` has the program, which behaves like this.
fn home(behaviour: &str) -> TempDir {
    let home = tempfile::tempdir().unwrap();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let entry = json!({
        "command": "python3", "args": ["-c", PROGRAM, behaviour], "default_mode": "default",
        "env": {"OWN": "yes"}, "chorus": {"provider": "anthropic", "meta": {"a": 1}},
    });
    let config = json!({"agent_servers": {"script": entry}, "team": {"spawn_timeout": 60}});
    fs::write(home.path().join("config.json"), config.to_string()).unwrap();
    home
}

/// The exit code, the verdict, and what was seen.
fn checked(behaviour: &str) -> (i32, String, String) {
    let home = home(behaviour);
    let mut command = chorus(home.path(), &["doctor", "--program", "script", "--json"]);
    command.env("ANTHROPIC_API_KEY", CANARY);
    let seen = seen(&mut command);
    let checks: Value = serde_json::from_str(&seen.out).expect(&seen.err);
    let word = |name: &str| checks[0][name].as_str().unwrap().to_owned();
    (seen.code, word("verdict"), word("seen"))
}

#[test]
fn what_a_program_does_is_told() {
    let who = "script 1.0 (mode default)";
    for (behaviour, verdict, said) in [
        ("asks", "ok", "asks before commands"),
        (
            "asks and goes on",
            "warning",
            "does not ask before commands: only the sandbox confines it",
        ),
        (
            "runs",
            "warning",
            "does not ask before commands: only the sandbox confines it",
        ),
        (
            "no model",
            "warning",
            "could not be checked: it asked its model nothing",
        ),
        (
            "no tool",
            "warning",
            "could not be checked: it offered its model no tool for commands",
        ),
    ] {
        let expected = (0, verdict.to_owned(), format!("{who} {said}"));
        assert_eq!(checked(behaviour), expected, "{behaviour}");
    }
}

#[test]
fn a_program_that_does_not_start_says_why() {
    for (behaviour, said) in [
        ("dies", "script: exited with 3: boom: cannot start"),
        ("version 2", "script: speaks ACP 2 only"),
        ("sign-in", "script: wants a sign-in"),
        (
            "keeps its mode",
            "script: script 1.0 starts in mode auto and does not accept default",
        ),
    ] {
        let (code, verdict, seen) = checked(behaviour);
        assert_eq!(
            (code, verdict.as_str(), seen.as_str()),
            (78, "failure", said),
            "{behaviour}"
        );
    }
}

#[test]
fn a_program_is_given_its_own_variables_and_no_key() {
    let (_, _, seen) = checked("shows itself");
    let own = r#"{"OWN": "yes", "HOME": "home", "DISCORD_TOKEN": "none", "CHORUS_HOME": "none", "ANTHROPIC_BASE_URL": "http"}"#;
    let shown = format!(r#"script: exited with 5: [false, {own}, {{"a": 1}}, "work"]"#);
    assert_eq!(seen, shown);
}

#[test]
fn the_stand_in_refuses_what_is_not_its_own() {
    let (_, _, seen) = checked("wrong token");
    let said = r#"[[400, "Chorus: the token is not that of this member"], [400, "Chorus: this path is not passed on"]]"#;
    assert_eq!(seen, format!("script: exited with 4: {said}"));
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let home = home("asks");
    let config = json!({"agent_servers": {"claude": {"command": "no-such-agent"}, "mine": {"command": "python3", "chorus": {"preset": "gemini"}}}});
    fs::write(home.path().join("config.json"), config.to_string()).unwrap();
    let run = |id: &str| seen(&mut chorus(home.path(), &["doctor", "--program", id]));
    let unknown = run("clyde");
    assert_eq!(unknown.code, 78);
    assert!(
        unknown.out.contains("there is no program clyde"),
        "{}",
        unknown.out
    );
    assert!(
        unknown.out.contains("write one of: claude, mine"),
        "{}",
        unknown.out
    );
    let missing = run("claude");
    let said = "claude: no-such-agent is not in PATH; install it: npm install -g @agentclientprotocol/claude-agent-acp";
    assert!(missing.out.contains(said), "{}", missing.out);
}
