//! What the people of a server decided: `/decisions`, the tool that records one, and what each new conversation is told.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use chorus_playground::Rights;
use serde_json::json;

use super::{system, writes};
use crate::world::{Actor, Setup, World, run_test, run_test_with};

/// The file of the only server.
fn file(world: &World) -> PathBuf {
    let servers = world.home().join("servers");
    let mut found = fs::read_dir(servers).unwrap().flatten();
    found.next().unwrap().path().join("decisions.md")
}

async fn adds(world: &World, text: &str) -> String {
    let command = format!("/decisions add text:{text}");
    world.ann.asks(&command, "#lab").await.replace('\\', "")
}

/// Empties the conversation.
async fn begins_again(world: &World) {
    world.model.summarises("");
    let cleared = world.ann.asks("/context clear", "#lab").await;
    assert!(cleared.contains("cleared"), "{cleared}");
}

#[tokio::test]
async fn a_decision_is_told_to_each_new_conversation_until_it_is_withdrawn() {
    run_test(async |world| {
        let none = world.ann.asks("/decisions list", "#lab").await;
        assert!(none.contains("This server has no decisions yet."), "{none}");
        world.exchange("hello", "Hello.").await;
        let added = adds(world, "Doors are red").await;
        assert!(
            added.contains("Decision 1 added: Doors are red (ann, 20"),
            "{added}"
        );
        // The conversation that goes on keeps its beginning.
        world.exchange("again", "Again.").await;
        assert!(!system(world).contains("Doors are red"));
        begins_again(world).await;
        world.exchange("and now?", "Red.").await;
        let told = system(world);
        assert!(
            told.contains("<decisions id=") && told.contains("- 1. Doors are red (ann, 20"),
            "{told}"
        );
        adds(world, "Windows are blue").await;
        let withdrawn = world.ann.asks("/decisions withdraw number:1", "#lab").await;
        assert!(withdrawn.contains("Decision 1 withdrawn"), "{withdrawn}");
        let twice = world.ann.asks("/decisions withdraw number:1", "#lab").await;
        assert!(twice.contains("Decision 1 is withdrawn already."), "{twice}");
        let unknown = world.ann.asks("/decisions withdraw number:9", "#lab").await;
        assert!(unknown.contains("There is no decision 9"), "{unknown}");
        // A number is not used again.
        let third = adds(world, "Roofs are green").await;
        assert!(third.contains("Decision 3 added"), "{third}");
        begins_again(world).await;
        world.exchange("and then?", "Blue.").await;
        let told = system(world);
        assert!(
            told.contains("- 2. Windows are blue") && told.contains("- 3. Roofs are green"),
            "{told}"
        );
        assert!(!told.contains("Doors are red"), "{told}");
        let list = world.ann.asks("/decisions list", "#lab").await;
        assert!(list.contains("~~**1.** Doors are red"), "{list}");
        let written = fs::read_to_string(file(world)).unwrap();
        assert!(written.starts_with("- ~~1. Doors are red (ann, 20"), "{written}");
        let audited = world
            .ledger(
                "SELECT action_string || ' ' || outcome FROM audit_log WHERE action_string LIKE 'command:decisions%' ORDER BY id",
            )
            .await;
        assert_eq!(
            audited,
            [
                "command:decisions_add applied",
                "command:decisions_add applied",
                "command:decisions_withdraw applied",
                "command:decisions_withdraw failed: Decision 1 is withdrawn already.",
                "command:decisions_withdraw failed: There is no decision 9; `/decisions list` shows them.",
                "command:decisions_add applied",
            ]
        );
    })
    .await;
}

#[tokio::test]
async fn who_may_not_manage_channels_looks_only() {
    run_test(async |world| {
        adds(world, "Doors are red").await;
        let list = world.bob.asks("/decisions list", "#lab").await;
        assert!(list.contains("Doors are red"), "{list}");
        for command in [
            "/decisions add text:Doors are pink",
            "/decisions withdraw number:1",
        ] {
            let refused = world.bob.asks(command, "#lab").await;
            assert!(refused.contains("Manage Channels"), "{refused}");
        }
        let written = fs::read_to_string(file(world)).unwrap();
        assert_eq!(written.lines().count(), 1, "{written}");
        assert!(!written.contains("~~"), "{written}");
    })
    .await;
}

#[tokio::test]
async fn an_agent_records_one_under_the_name_of_who_allowed_it() {
    run_test(async |world| {
        // Without a decision there is no such tool to be told of.
        world.exchange("hello", "Hello.").await;
        assert!(!system(world).contains("record_decision"));
        adds(world, "Doors are red").await;
        world
            .model
            .calls_tool(
                "call_tool",
                json!({"name": "record_decision", "arguments": {"text": "Walls\nare @everyone white"}}),
            )
            .answers("Written down.");
        world.ann.says("#lab", "write it down").await;
        world.question("#lab").await;
        assert!(system(world).contains("record_decision: record a decision of people"));
        world.ann.clicks("#lab", "Allow").await;
        world.sees("#lab", "Written down.").await;
        let written = fs::read_to_string(file(world)).unwrap();
        let last = written.lines().last().unwrap();
        assert!(
            last.starts_with("- 2. Walls are @everyone white (ann, 20"),
            "{written}"
        );
        // Nobody is called by a decision that names them.
        let list = world.ann.asks("/decisions list", "#lab").await;
        assert!(list.contains("\\@everyone"), "{list}");
        let audited = "SELECT decision || ' ' || outcome FROM audit_log WHERE action_string LIKE 'tool:self_edit:decision:%'";
        assert_eq!(world.ledger(audited).await, ["ask_approved applied"]);
    })
    .await;
}

#[tokio::test]
async fn what_people_wrote_into_the_file_stays_and_a_link_is_not_followed() {
    run_test(async |world| {
        adds(world, "First").await;
        let path = file(world);
        let text = "# Ours\n\nSome words.\n- 7. Seventh (of old)\n- 12345678901. No number\nno end";
        fs::write(&path, text).unwrap();
        let added = adds(world, "Eighth").await;
        assert!(added.contains("Decision 8 added"), "{added}");
        let written = fs::read_to_string(&path).unwrap();
        assert!(
            written.starts_with(&format!("{text}\n- 8. Eighth (ann")),
            "{written}"
        );
        world.ann.asks("/decisions withdraw number:7", "#lab").await;
        let written = fs::read_to_string(&path).unwrap();
        assert!(
            written.contains(
                "Some words.\n- ~~7. Seventh (of old)~~\n- 12345678901. No number\nno end\n- 8."
            ),
            "{written}"
        );
        // What was told would be longer than it may be: the newest stand.
        let many: String = (1..=400)
            .map(|n| format!("- {n}. {}\n", "x".repeat(100)))
            .collect();
        fs::write(&path, many).unwrap();
        world.exchange("hello", "Hello.").await;
        let told = system(world);
        assert!(
            told.contains("- 400. x") && !told.contains("- 100. x"),
            "{}",
            told.len()
        );
        let outside = world.home().join("outside.md");
        fs::write(&outside, "- 1. The secret of the house\n").unwrap();
        fs::remove_file(&path).unwrap();
        symlink(&outside, &path).unwrap();
        let refused = adds(world, "Not there").await;
        assert!(refused.contains("decisions.md"), "{refused}");
        begins_again(world).await;
        world.exchange("once more", "Once more.").await;
        assert!(!system(world).contains("secret of the house"));
        assert!(!fs::read_to_string(&outside).unwrap().contains("Not there"));
    })
    .await;
}

#[tokio::test]
async fn a_charter_says_what_a_conversation_begins_with() {
    run_test(async |world| {
        adds(world, "Doors are red").await;
        writes(
            world,
            "charter.md",
            "---\nname: reviewer\ndescription: Reviews.\nseed: []\n---\nYou review.\n",
        );
        world.exchange("hello", "Hello.").await;
        assert!(!system(world).contains("Doors are red"));
    })
    .await;
}

/// Has the agent record a decision for somebody, and gives what it was told.
async fn records(world: &World, who: &Actor, allows: Option<&Actor>) -> String {
    let text = format!("Decision {}", world.model.requests().len());
    let call = json!({"name": "record_decision", "arguments": {"text": text}});
    world
        .model
        .calls_tool("call_tool", call)
        .answers(&format!("Done with {text}."));
    who.says("#lab", "write it down").await;
    if let Some(allows) = allows {
        allows.clicks("#lab", "Allow").await;
    }
    world.sees("#lab", &format!("Done with {text}.")).await;
    world.model.last_request()["messages"].to_string()
}

#[tokio::test]
async fn an_agent_records_none_for_who_could_not_add_it_by_the_command() {
    run_test(async |world| {
        adds(world, "Doors are red").await;
        world.exchange("hello", "Hello.").await;
        let lines = |world: &World| fs::read_to_string(file(world)).unwrap().lines().count();
        let needs = "needs the permission Manage Channels, as `/decisions add` does";
        for profile in ["standard", "guarded", "open"] {
            world.edits_agent_json("lab", json!({"permissions": profile}));
            let asks = (profile == "standard").then_some(&world.bob);
            let told = records(world, &world.bob, asks).await;
            assert!(told.contains(needs), "{profile}: {told}");
            assert_eq!(lines(world), 1, "{profile}");
        }
        // Who allows it needs the right as well.
        world.edits_agent_json("lab", json!({"permissions": "standard"}));
        let approver = world.bob.person.gets_role("approver", Rights::default());
        let added = format!("/settings approvers change:add role:{}", approver.0);
        world.ann.asks(&added, "#lab").await;
        let told = records(world, &world.ann, Some(&world.bob)).await;
        assert!(told.contains("the person who allowed it"), "{told}");
        assert_eq!(lines(world), 1);
        // A role that holds it is enough.
        world
            .bob
            .person
            .gets_role("keepers", Rights::MANAGE_CHANNELS);
        let told = records(world, &world.bob, Some(&world.bob)).await;
        assert_eq!(lines(world), 2, "{told}");
        // Where the channel takes it from them, the command refuses them too.
        let lab = world.channel("#lab");
        world
            .discord
            .denies(lab, world.bob.id(), Rights::MANAGE_CHANNELS);
        let told = records(world, &world.bob, Some(&world.bob)).await;
        assert!(told.contains(needs), "{told}");
        assert_eq!(lines(world), 2);
    })
    .await;
}

#[tokio::test]
async fn a_webhook_has_no_rights_whatever_author_it_names() {
    let setup = Setup {
        config: json!({"allow_bots": true}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        adds(world, "Doors are red").await;
        world.exchange("hello", "Hello.").await;
        world.edits_agent_json("lab", json!({"permissions": "open"}));
        // ann may manage channels, and the message names her as its author.
        world.discord.alters_events(|name, message| {
            if name == "MESSAGE_CREATE" {
                message["webhook_id"] = json!("77");
                message.as_object_mut().unwrap().remove("member");
            }
        });
        let told = records(world, &world.ann, None).await;
        assert!(
            told.contains("needs the permission Manage Channels"),
            "{told}"
        );
        assert_eq!(fs::read_to_string(file(world)).unwrap().lines().count(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_turn_that_no_person_began_records_none() {
    run_test(async |world| {
        adds(world, "Doors are red").await;
        world.edits_agent_json("lab", json!({"permissions": "open"}));
        let call = json!({"name": "record_decision", "arguments": {"text": "Doors are pink"}});
        world
            .model
            .calls_tool("run_concurrent", json!({"command": "true"}))
            .answers("Started.")
            .calls_tool("call_tool", call)
            .answers("Tried.");
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "Tried.").await;
        let told = world.model.last_request()["messages"].to_string();
        assert!(
            told.contains("needs the permission Manage Channels"),
            "{told}"
        );
        let written = fs::read_to_string(file(world)).unwrap();
        assert!(!written.contains("pink"), "{written}");
    })
    .await;
}
