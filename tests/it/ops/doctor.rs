//! `chorus doctor`: a line for each check, what to do beside what is wrong, and nothing changed.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::SystemTime;

use serde_json::{Value, json};

use super::{command, program, seen};
use crate::world::{Setup, run_test_with};

/// Every file of a folder with its time of change.
fn picture(folder: &Path) -> BTreeMap<String, (u64, SystemTime)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let metadata = entry.metadata().unwrap();
        let name = entry.path().display().to_string();
        if metadata.is_dir() {
            found.extend(picture(&entry.path()));
        } else {
            found.insert(name, (metadata.len(), metadata.modified().unwrap()));
        }
    }
    found
}

fn checks(text: &str) -> Vec<Value> {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[tokio::test]
async fn it_finds_nothing_wrong_where_nothing_is_and_changes_nothing() {
    run_test_with(program(Vec::new()), async |world| {
        world.model.lists(&["scripted-model"]);
        world.stops().await;
        let before = picture(&world.home());
        let looked = seen(&mut command(world, &["doctor", "--json"])).await;
        assert_eq!(looked.code, 0, "{}{}", looked.out, looked.err);
        let checks = checks(&looked.out);
        let named: Vec<&str> = checks
            .iter()
            .map(|check| check["name"].as_str().unwrap())
            .collect();
        assert_eq!(
            named,
            [
                "user",
                "home",
                "config",
                "time zones",
                "secrets",
                "secrets",
                "addresses",
                "addresses",
                "database",
                "git",
                "sandbox",
                "clock",
                "token",
                "intents",
                "public",
                "servers",
                "models"
            ]
        );
        for check in &checks {
            let has_remedy = check["do"].is_string();
            assert_eq!(check["verdict"] != "ok", has_remedy, "{check}");
            assert!(!check["seen"].as_str().unwrap().is_empty(), "{check}");
        }
        let last = checks.last().unwrap()["seen"].as_str().unwrap();
        assert_eq!(last, "anthropic: 1 model: scripted-model");
        assert_eq!(picture(&world.home()), before);

        let shown = seen(&mut command(world, &["doctor"])).await;
        let lines = shown.out.lines().filter(|line| !line.starts_with(' '));
        assert_eq!(lines.count(), checks.len(), "{}", shown.out);
    })
    .await;
}

#[tokio::test]
async fn a_bot_in_no_server_is_told_the_address_that_invites_it() {
    run_test_with(program(Vec::new()), async |world| {
        world.stops().await;
        world.discord.kicks_bot(world.discord.guild());
        let looked = seen(&mut command(world, &["doctor", "--json"])).await;
        let checks = checks(&looked.out);
        let servers = checks.iter().find(|check| check["name"] == "servers");
        let remedy = servers.unwrap()["do"].as_str().unwrap();
        let invite = "invite it: https://discord.com/oauth2/authorize?client_id=";
        assert!(remedy.starts_with(invite), "{remedy}");
    })
    .await;
}

#[tokio::test]
async fn each_fault_has_its_line_and_its_way_out() {
    let setup = Setup {
        config: json!({ "git": { "hosts": {
            "git.example.org": { "token_env": "MISSING_TOKEN" },
            "ssh.example.org": {},
        } } }),
        ..program(Vec::new())
    };
    run_test_with(setup, async |world| {
        world.stops().await;
        let mut doctor = command(world, &["doctor", "--json"]);
        doctor.env("DISCORD_TOKEN", "hunter2");
        let looked = seen(doctor.env("ANTHROPIC_API_KEY", "hunter3")).await;
        assert_eq!(looked.code, 78, "{}", looked.out);
        assert!(
            looked.err.contains("see the → lines above"),
            "{}",
            looked.err
        );
        assert!(!looked.out.contains("hunter"), "{}", looked.out);
        let failed: Vec<(String, String)> = checks(&looked.out)
            .iter()
            .filter(|check| check["verdict"] == "failure")
            .map(|check| {
                let text = |key: &str| check[key].as_str().unwrap().to_owned();
                (text("name"), text("do"))
            })
            .collect();
        let names: Vec<&str> = failed.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["git", "token", "models"], "{}", looked.out);
        assert!(failed[0].1.contains("MISSING_TOKEN_FILE"), "{failed:?}");
        assert!(failed[1].1.contains("Reset Token"), "{failed:?}");

        let dotenv = world.home().join(".env");
        fs::write(&dotenv, "OPENAI_API_KEY='hunter4'\n").unwrap();
        fs::set_permissions(&dotenv, fs::Permissions::from_mode(0o644)).unwrap();
        world.discord.opens_bot_to_the_public();
        let mut doctor = command(world, &["doctor", "--json"]);
        let looked = seen(doctor.env("CHORUS_HOST_EXEC", "1")).await;
        assert!(!looked.out.contains("hunter"), "{}", looked.out);
        let warned: Vec<(String, String)> = checks(&looked.out)
            .iter()
            .filter(|check| check["name"] == "environment" || check["name"] == "public")
            .map(|check| (check["seen"].to_string(), check["do"].to_string()))
            .collect();
        let said = |index: usize, seen: &str, remedy: &str| {
            let (has, does) = &warned[index];
            assert!(has.contains(seen) && does.contains(remedy), "{warned:?}");
        };
        said(0, ".env can be read by others", "chmod 600");
        said(1, "CHORUS_HOST_EXEC is set but not used", "`sandbox`");
        said(2, "anyone can invite the bot", "turn off Public Bot");
        fs::set_permissions(&dotenv, fs::Permissions::from_mode(0o600)).unwrap();
        let looked = seen(&mut command(world, &["doctor", "--json"])).await;
        assert!(!looked.out.contains(".env can be read"), "{}", looked.out);
        fs::remove_file(dotenv).unwrap();
        let made = seen(&mut command(world, &["init", "--non-interactive"])).await;
        assert!(
            made.out.contains("Anyone can invite this bot") && made.out.contains("Public Bot"),
            "{}",
            made.out
        );

        fs::write(world.home().join("config.json"), "{\n  \"network\": 1\n}").unwrap();
        let looked = seen(&mut command(world, &["doctor"])).await;
        assert_eq!(looked.code, 78);
        assert!(looked.out.contains("config.json:2:"), "{}", looked.out);
    })
    .await;
}

#[tokio::test]
async fn weaker_layers_than_bubblewrap_are_a_fault_where_a_sandbox_is_required() {
    let setup = Setup {
        config: json!({"sandbox": "required"}),
        ..program(Vec::new())
    };
    run_test_with(setup, async |world| {
        world.stops().await;
        let programs = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/usr/bin/bash", programs.path().join("bash")).unwrap();
        let mut doctor = command(world, &["doctor", "--json"]);
        let looked = seen(doctor.env("PATH", programs.path())).await;
        let checks = checks(&looked.out);
        let sandbox = checks.iter().find(|check| check["name"] == "sandbox");
        let sandbox = sandbox.unwrap();
        assert_eq!(sandbox["verdict"], "failure", "{sandbox}");
        let said = sandbox["seen"].as_str().unwrap();
        assert!(
            said.contains("change the mode, times and attributes of every file"),
            "{said}"
        );
        assert_eq!(
            sandbox["do"],
            "install bubblewrap: sudo apt-get install bubblewrap"
        );
    })
    .await;
}
