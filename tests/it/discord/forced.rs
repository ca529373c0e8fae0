//! What a person without rights forces past Discord: presses of buttons that were never shown to them, and commands that
//! Discord would not offer them. Nothing is decided, run or changed.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

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

/// Where a press seems to come from.
#[derive(Clone, Copy, Debug)]
enum Origin {
    ItsChannel,
    OtherChannel(u64),
    OtherServer,
    DirectMessage,
}

impl Origin {
    fn forge(self, custom_id: &str, event: &mut Value) {
        event["data"]["custom_id"] = json!(custom_id);
        match self {
            Self::ItsChannel => {}
            Self::OtherChannel(channel) => {
                event["channel_id"] = json!(channel.to_string());
                event["channel"]["id"] = json!(channel.to_string());
            }
            Self::OtherServer => event["guild_id"] = json!("4242"),
            Self::DirectMessage => {
                let all = event.as_object_mut().unwrap();
                all.remove("guild_id");
                let member = all.remove("member").unwrap();
                all.insert("user".to_owned(), member["user"].clone());
            }
        }
    }
}

/// Ids of buttons, menus and confirmations of every kind. Pages and *Cancel* are not among them: they change only the message
/// that holds them.
fn ids(approval: &str, turn: &str) -> Vec<String> {
    let kinds = [
        "approval:A:allow",
        "approval:A:deny",
        "approval:A:always",
        "approval:A:reason",
        "approval:A:pick",
        "approval:999:allow",
        "one:A:allow",
        "one:A:deny",
        "one:A:always",
        "always:A",
        "always:A:yes",
        "continue:T",
        "again:T",
        "stop:T",
        "abort:T",
        "clear:99999999999",
        "purge:99999999999",
        "destroy:delete:99999999999:lab",
        "destroy:keep:99999999999:lab",
        "repair:lab",
        "repair:99999999999:lab",
        "prompt:lab",
        "config:model:lab",
        "config:permissions:lab",
        "setting:default_permissions",
        "setting:model",
        "init:profile:lab",
        "ungrant:0123456789abcdef:lab",
        "server:accept:4242",
        "restore:0123456789ab",
        "mcp:approve:tracker:0123456789abcdef",
        "mcp:marked:tracker:0123456789abcdef",
        "mcp:deny:tracker:0123456789abcdef",
    ];
    let filled = kinds.iter();
    filled
        .map(|kind| {
            kind.replace(":A", &format!(":{approval}"))
                .replace(":T", &format!(":{turn}"))
        })
        .collect()
}

#[tokio::test]
async fn forged_presses_decide_and_change_nothing() {
    run_test(async |world| {
        world.makes_agent("other").await;
        is_for_vips(world, "lab");
        world.asks_to_write(&world.ann.clone(), "It is done.").await;
        let card = world.question("#lab").await;
        let shown = card.buttons();
        let allow = shown.iter().find(|button| button.label == "Allow").unwrap();
        let approval = allow.custom_id.split(':').nth(1).unwrap().to_owned();
        let turn = world
            .ledger("SELECT id FROM turns WHERE state = 'running'")
            .await;
        let before = state(world).await;

        let places = [
            Origin::ItsChannel,
            Origin::OtherChannel(world.channel("#other").0),
            Origin::OtherServer,
            Origin::DirectMessage,
        ];
        let forged: VecDeque<(Origin, String)> = places
            .into_iter()
            .flat_map(|from| {
                ids(&approval, &turn[0])
                    .into_iter()
                    .map(move |id| (from, id))
            })
            .collect();
        assert_eq!(forged.len(), 132);
        let count = forged.len();
        let waiting = Arc::new(Mutex::new(forged));
        let next = Arc::clone(&waiting);
        world.discord.alters_events(move |name, event| {
            if name == "INTERACTION_CREATE"
                && let Some((from, id)) = next.lock().unwrap().pop_front()
            {
                from.forge(&id, event);
            }
        });
        let lab = world.channel("#lab");
        for _ in 0..count {
            world.bob.person.clicks(lab, card.id, "Allow").unwrap();
        }
        world
            .becomes("all presses sent", || waiting.lock().unwrap().is_empty())
            .await;
        world.discord.leaves_events_alone();
        // What comes later is answered, so what came before was judged.
        world.bob.asks("/ping", "#other").await;
        assert!(!world.was_written());
        assert_eq!(state(world).await, before);
        // The card is as it was.
        world.ann.clicks("#lab", "Allow").await;
        world.sees("#lab", "It is done.").await;
        assert!(world.was_written());
    })
    .await;
}

/// Each command as somebody without rights types it in the channel of an agent that does not admit them.
const COMMANDS: [&str; 86] = [
    "/agent init name:mine",
    "/agent init name:mine folder:/srv",
    "/agent list",
    "/agent config name:lab key:permissions",
    "/agent config name:lab key:permissions value:open",
    "/agent config name:lab key:workspace value:/srv",
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
    "/usage user:@ann",
    "/overview",
    "/audit",
    "/audit agent_name:lab",
    "/purge",
    "/remind when:at 18:00 text:home",
    "/schedule new when:daily at 9:00 prompt:steal",
    "/schedule run name:reminder",
    "/schedule edit name:reminder",
    "/schedule list",
    "/schedule pause name:all",
    "/hook new kind:github prompt:steal",
    "/hook list",
    "/hook show name:github",
    "/hook test name:github",
    "/hook rotate name:github",
    "/hook pause name:all",
    "/hook resume name:all",
    "/hook delete name:github",
    "/mcp list",
    "/mcp show server:tracker",
    "/mcp add name:tracker command:true",
    "/mcp remove server:tracker",
    "/mcp approve server:tracker",
    "/mcp tool server:tracker tool:get_issue mark:read",
    "/mcp restart server:tracker",
    "/mcp restart server:tracker clean:true",
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
            assert!(COMMANDS.iter().any(is_tried), "{name}");
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
