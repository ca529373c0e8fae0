//! `chorus init --non-interactive`: a home for a first start, and nothing overwritten.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::program::{chorus, seen};

#[test]
fn a_home_is_made_that_check_config_likes() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("deep/home");
    let init = |arguments: &[&str]| {
        let mut command = chorus(folder.path(), &["init", "--non-interactive"]);
        seen(command.args(arguments).env("CHORUS_HOME", &home))
    };
    let made = init(&["--default-model", "some-model"]);
    assert_eq!(made.code, 0, "{}", made.err);
    assert_eq!(
        fs::metadata(&home).unwrap().permissions().mode() & 0o777,
        0o700
    );
    let config: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(home.join("config.json")).unwrap()).unwrap();
    assert_eq!(config["default_model"], "some-model");
    assert_eq!(config["idle_timeout"], 1800);
    let checked = seen(chorus(folder.path(), &["check-config"]).env("CHORUS_HOME", &home));
    assert_eq!(checked.code, 0, "{}", checked.err);

    let again = init(&["--default-model", "other"]);
    assert_eq!(again.code, 0);
    assert!(again.out.contains("stays as it is"), "{}", again.out);
    assert!(
        fs::read_to_string(home.join("config.json"))
            .unwrap()
            .contains("some-model")
    );
}

#[test]
fn without_a_terminal_it_says_what_to_add() {
    let home = tempfile::tempdir().unwrap();
    let said = seen(chorus(home.path(), &["init"]).stdin(std::process::Stdio::null()));
    assert_eq!(said.code, 1);
    assert!(said.err.contains("add --non-interactive"), "{}", said.err);
}
