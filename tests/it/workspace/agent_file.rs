//! `agent.json`: what is kept, what is refused.

use std::fs;

use chorus::workspace::agent_file;
use insta::assert_snapshot;
use serde_json::json;

use super::folder::new_folder;

#[test]
fn a_rewrite_keeps_keys_it_does_not_know_and_their_order() {
    let home = tempfile::tempdir().unwrap();
    let workspace = new_folder(home.path(), "lab");
    let path = home.path().join("lab/agent.json");
    fs::write(
        &path,
        r#"{"mine": {"b": 1, "a": 2}, "name": "lab", "system_prompt": "P", "permissions": "locked", "z": null}"#,
    )
    .unwrap();
    let file = agent_file::rewrite(workspace.agent(), |raw| {
        raw.insert("system_prompt".into(), json!("Q"));
    })
    .unwrap();
    assert_eq!(file.config.system_prompt, "Q");
    assert_snapshot!(fs::read_to_string(&path).unwrap(), @r#"
    {
        "mine": {
            "b": 1,
            "a": 2
        },
        "name": "lab",
        "system_prompt": "Q",
        "permissions": "locked",
        "z": null
    }
    "#);
}

#[test]
fn a_broken_file_is_named_by_line_and_never_overwritten() {
    let home = tempfile::tempdir().unwrap();
    let workspace = new_folder(home.path(), "lab");
    let path = home.path().join("lab/agent.json");
    let broken = "{\n    \"name\": \"lab\",\n    \"system_prompt\": 7,\n    \"permissions\": \"standard\"\n}\n";
    fs::write(&path, broken).unwrap();
    let told = agent_file::read(workspace.agent()).unwrap_err().to_string();
    assert_snapshot!(told, @"agent.json, line 3, column 22: invalid type: integer `7`, expected a string");
    agent_file::rewrite(workspace.agent(), |raw| raw.clear()).unwrap_err();
    assert_eq!(fs::read_to_string(&path).unwrap(), broken);
}

#[test]
fn a_change_that_would_break_the_file_is_not_written() {
    let home = tempfile::tempdir().unwrap();
    let workspace = new_folder(home.path(), "lab");
    let before = fs::read(home.path().join("lab/agent.json")).unwrap();
    agent_file::rewrite(workspace.agent(), |raw| {
        raw.insert("permissions".into(), json!(1));
    })
    .unwrap_err();
    assert_eq!(
        fs::read(home.path().join("lab/agent.json")).unwrap(),
        before
    );
}

#[test]
fn rewrites_at_the_same_time_lose_nothing() {
    let home = tempfile::tempdir().unwrap();
    let workspace = new_folder(home.path(), "lab");
    std::thread::scope(|scope| {
        for n in 0..16 {
            let workspace = &workspace;
            scope.spawn(move || {
                agent_file::rewrite(workspace.agent(), |raw| {
                    raw.insert(format!("key_{n}"), json!(n));
                })
                .unwrap()
            });
        }
    });
    let raw = agent_file::read(workspace.agent()).unwrap().raw;
    for n in 0..16 {
        assert_eq!(raw[&format!("key_{n}")], json!(n));
    }
}

#[test]
fn links_pipes_and_giants_are_refused_at_once() {
    let home = tempfile::tempdir().unwrap();
    let workspace = new_folder(home.path(), "lab");
    let path = home.path().join("lab/agent.json");
    let told = || agent_file::read(workspace.agent()).unwrap_err().to_string();

    fs::write(&path, " ".repeat(1024 * 1024 + 1)).unwrap();
    assert_snapshot!(told(), @"agent.json has more than 1 MiB");

    fs::remove_file(&path).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &path,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    assert_snapshot!(told(), @"agent.json is not a regular file");

    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("docs/README.md", &path).unwrap();
    agent_file::read(workspace.agent()).unwrap_err();
}
