//! `agent.json`: what is kept, what is refused.

use std::fs;
use std::path::Path;

use chorus::config::Config;
use chorus::domain::RoleId;
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
    assert_snapshot!(told, @"agent.json, line 3, column 22: `system_prompt`: invalid type: integer `7`, expected a string");
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

#[test]
fn ids_are_read_as_in_the_configuration_and_refused_in_the_same_words() {
    let file = |roles: &str| {
        let text = format!(
            "{{\n\"name\": \"lab\", \"system_prompt\": \"\", \"permissions\": \"locked\", \"channel_id\": \"7\",\n\"access_roles\": {roles}\n}}"
        );
        let agent = agent_file::parse(&text).map(|file| file.config.access_roles);
        let whole = Config::parse(
            &format!("{{\n\n\"access_roles\": {roles}\n}}"),
            Path::new("config.json"),
        );
        (agent, whole.map(|config| config.access_roles))
    };
    let (agent, whole) = file(r#"["11", 12]"#);
    let roles = vec![RoleId(11), RoleId(12)];
    assert_eq!(agent.unwrap(), Some(roles.clone()));
    assert_eq!(whole.unwrap(), roles);
    assert_eq!(file("null").0.unwrap(), None, "the server's");
    for nonsense in [r#"["Admins"]"#, "[null]", "[-1]", "[1.5]", r#""11""#, "{}"] {
        let (agent, whole) = file(nonsense);
        let agent = agent.unwrap_err().to_string();
        let whole = whole.unwrap_err().to_string();
        let reason = |said: &str| {
            said.split_once("access_roles")
                .map(|(_, reason)| reason.to_owned())
        };
        assert_eq!(
            reason(&agent),
            reason(&whole),
            "{nonsense}: {agent} and {whole}"
        );
        assert!(agent.starts_with("agent.json, line 3"), "{agent}");
    }
}

#[test]
fn a_key_that_stands_twice_is_named_with_its_line() {
    let twice = "{\n\"name\": \"lab\", \"system_prompt\": \"\",\n\"permissions\": {\"allow\": [], \"ask\": [], \"deny\": [\"tool:bash:.*\"],\n\"deny\": []}\n}";
    let told = agent_file::parse(twice).unwrap_err().to_string();
    assert_snapshot!(told, @"agent.json, line 4, column 6: the key `deny` stands twice: keep one of them");
}
