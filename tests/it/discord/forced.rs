//! What a person without rights forces past Discord: commands that it would not offer them. Nothing is run or changed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use chorus_playground::Rights;
use serde_json::{Value, json};

use crate::world::{World, run_test};

/// Only members of a role that Bob lacks may talk to the agent.
fn is_for_vips(world: &World, agent: &str) {
    let vip = world.ann.person.gets_role("vip", Rights::default());
    world.edits_agent_json(agent, json!({"access_roles": [vip.0]}));
}

/// Every file below `folder`.
fn files(folder: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            files(&path, found);
        } else if let Ok(content) = fs::read(&path) {
            found.insert(path.display().to_string(), content);
        }
    }
}

/// Everything that somebody could change: the agents' files, the configuration, and what the ledger counts.
async fn state(world: &World) -> (BTreeMap<String, Vec<u8>>, Vec<String>) {
    let mut found = BTreeMap::new();
    files(&world.home().join("agents"), &mut found);
    let config = world.home().join("config.json");
    found.insert("config.json".to_owned(), fs::read(config).unwrap());
    let counted = "SELECT (SELECT count(*) FROM agents WHERE status <> 'destroyed') || ' agents, ' ||
            (SELECT count(*) FROM turns) || ' turns, ' || (SELECT count(*) FROM inbound) || ' messages, ' ||
            (SELECT count(*) FROM conversations) || ' conversations, ' || (SELECT count(*) FROM sessions) || ' sessions, ' ||
            (SELECT count(*) FROM settings) || ' settings, ' || (SELECT count(*) FROM servers) || ' servers, ' ||
            (SELECT count(*) FROM tasks) || ' tasks, ' ||
            (SELECT count(*) FROM approvals WHERE decision IS NULL) || ' questions'";
    (found, world.ledger(counted).await)
}

/// Each command as somebody without rights types it in the channel of an agent that does not admit them.
const COMMANDS: [&str; 60] = [
    "/agent init name:mine",
    "/agent list",
    "/agent config name:lab key:permissions",
    "/agent config name:lab key:permissions value:open",
    "/agent config name:lab key:access_roles value:1",
    "/agent destroy name:lab",
    "/agent destroy name:lab keep_files:true",
    "/agent repair name:lab",
    "/agents",
    "/settings model",
    "/settings model model:anthropic/small-one",
    "/settings permissions permission_profile:open",
    "/settings show",
    "/settings validate-keys",
    "/settings idle-timeout timeout:0",
    "/settings approval-timeout timeout:5m",
    "/settings grants",
    "/settings approvers",
    "/settings access",
    "/servers list",
    "/servers accept server:4242",
    "/servers remove server:4242",
    "/context save",
    "/context save clear:true",
    "/context clear",
    "/context clear save_first:false",
    "/context history",
    "/context restore session_id:0123456789ab",
    "/context import session_id:x.json",
    "/context compact",
    "/branch new prompt:dig",
    "/branch list",
    "/branch kill id:all",
    "/branch kill id:1",
    "/branch history id:1",
    "/process list",
    "/process kill id:task_001",
    "/process logs id:task_001",
    "/ask prompt:dig",
    "/ask prompt:dig role:general",
    "/stop",
    "/abort",
    "/status",
    "/tasks",
    "/models",
    "/permissions",
    "/roles",
    "/decisions list",
    "/decisions add text:Doors are pink",
    "/decisions withdraw number:1",
    "/run show",
    "/run list",
    "/run list agent:lab",
    "/usage",
    "/usage agent_name:lab",
    "/audit",
    "/audit agent_name:lab",
    "/purge",
    "/ping",
    "/help",
];

#[tokio::test]
async fn every_command_forced_past_discord_by_somebody_without_rights_changes_nothing() {
    run_test(async |world| {
        world.exchange("the word is quagga", "Quagga it is.").await;
        is_for_vips(world, "lab");
        // Discord offers every command to everyone.
        let guild = world.discord.guild();
        let mut all = world.discord.commands(Some(guild));
        assert!(!all.is_empty());
        for command in &mut all {
            command["default_member_permissions"] = Value::Null;
        }
        let names: Vec<String> = all
            .iter()
            .filter(|command| command["type"] != 2 && command["type"] != 3)
            .map(|command| format!("/{}", command["name"].as_str().unwrap()))
            .collect();
        for name in &names {
            let is_tried = |typed: &&str| typed.split(' ').next() == Some(name);
            assert!(COMMANDS.iter().any(|typed| is_tried(&typed)), "{name}");
        }
        world.discord.shows_commands(guild, all);
        let before = state(world).await;
        for typed in COMMANDS {
            let answer = world.bob.asks(typed, "#lab").await;
            assert!(!answer.contains("quagga"), "{typed}: {answer}");
        }
        let shown = world.messages("#lab");
        let said = shown
            .iter()
            .find(|one| one.content.contains("Quagga"))
            .unwrap();
        for command in ["Retry", "Stop"] {
            world.bob.chooses(command, said.id, "#lab").await;
        }
        world.bob.asks("/ping", "#lab").await;
        assert_eq!(state(world).await, before);
    })
    .await;
}
