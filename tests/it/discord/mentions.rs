//! What a text says to type can be pressed: commands as mentions, models and profiles in menus.

use chorus::discord::rest::mention::{CommandIds, unlinked};
use chorus_playground::{Effect, Fault};
use serde_json::json;

use crate::world::{Lab, Setup, World, run_test, run_test_with};

/// The id under which a command is registered.
fn id(world: &World, name: &str) -> String {
    let all = world.discord.commands(Some(world.discord.guild()));
    let found = all.iter().find(|command| command["name"] == name).unwrap();
    found["id"].as_str().unwrap().to_owned()
}

/// What bob is told, word for word, who asks where no agent lives.
async fn no_agent(world: &World) -> String {
    world.bob.runs("/status", "#general").await;
    world.bob.next_private().await.content
}

#[tokio::test]
async fn a_command_in_a_text_can_be_pressed_also_after_a_restart() {
    run_test(async |world| {
        let mention = format!("</agent init:{}>", id(world, "agent"));
        let told = no_agent(world).await;
        assert!(told.contains(&mention), "{told}");
        let help = format!("</help:{}>", id(world, "help"));
        let all = world.messages("#lab");
        let welcome = all.first().unwrap().embeds[0]["description"].to_string();
        assert!(welcome.contains(&help), "{welcome}");
        world.stops().await;
        // The list of commands cannot be read, so the ids are those that were kept.
        world.discord.order(Fault {
            method: "GET",
            path: "/commands".to_owned(),
            times: usize::MAX,
            effect: Effect::Status(403),
        });
        world.starts().await;
        let told = no_agent(world).await;
        assert!(told.contains(&mention), "{told}");
    })
    .await;
}

#[tokio::test]
async fn a_notice_names_commands_that_can_be_pressed() {
    let setup = Setup {
        lab: Lab::Missing,
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.makes_agent("lab").await;
        let lab = world.channel("#lab");
        world.ann.person.deletes_channel(lab);
        let shown = world
            .sees("#general", "The channel of agent `lab` was deleted")
            .await;
        // A command with a value stays code.
        assert!(shown.contains("`/agent repair lab`"), "{shown}");
    })
    .await;
}

#[test]
fn only_a_command_alone_in_a_span_of_code_becomes_a_mention() {
    let ids = CommandIds::of(&json!([
        {"id": "7", "name": "help", "type": 1},
        {"id": "8", "name": "agent", "options": [{"type": 1, "name": "init"}]},
        {"id": "9", "name": "Stop", "type": 3},
    ]));
    for (text, linked) in [
        ("See `/help`.", "See </help:7>."),
        ("`/agent init` or `/agent`", "</agent init:8> or `/agent`"),
        ("`/agent init name:lab`", "`/agent init name:lab`"),
        (
            "/help and `/tmp` and `/Stop`",
            "/help and `/tmp` and `/Stop`",
        ),
        ("```\n`/help`\n``` `/help`", "```\n`/help`\n``` </help:7>"),
    ] {
        assert_eq!(ids.link(text), linked);
        assert_eq!(unlinked(linked), text);
    }
    assert_eq!(CommandIds::from_json(&ids.to_json()), ids);
    assert_eq!(CommandIds::from_json("gone"), CommandIds::default());
}

#[tokio::test]
async fn a_setting_is_chosen_from_a_menu() {
    run_test(async |world| {
        let asked = world.ann.asks("/settings model", "#lab").await;
        assert!(asked.contains("Choose a model"), "{asked}");
        world.ann.selects("#lab", "anthropic/scripted-model").await;
        let model = r#"SELECT value FROM settings WHERE key = 'default_model'"#;
        world
            .ledger_says(model, &["\"anthropic/scripted-model\""])
            .await;
        let asked = world
            .ann
            .asks("/settings permissions permission_profile:nope", "#lab")
            .await;
        assert!(asked.contains("There is no profile `nope`"), "{asked}");
        world.ann.selects("#lab", "guarded").await;
        let profile = r#"SELECT value FROM settings WHERE key = 'default_permissions'"#;
        world.ledger_says(profile, &["\"guarded\""]).await;
    })
    .await;
}

#[tokio::test]
async fn a_value_of_an_agent_is_chosen_from_a_menu() {
    run_test(async |world| {
        world
            .ann
            .asks("/agent config name:lab key:permissions", "#lab")
            .await;
        world.ann.selects("#lab", "locked").await;
        world
            .waits("the change", |world| {
                (world.agent_json("lab")["permissions"] == "locked").then_some(())
            })
            .await;
    })
    .await;
}

#[tokio::test]
async fn a_model_that_is_not_there_is_chosen_again_and_nothing_is_lost() {
    run_test(async |world| {
        let command =
            "/agent init name:pad model:nope permission_profile:none system_prompt:You are kind.";
        let asked = world.ann.asks(command, "#lab").await;
        assert!(asked.contains("There is no model `nope`"), "{asked}");
        assert!(world.discord.channel("#pad").is_none());
        world.ann.selects("#lab", "anthropic/scripted-model").await;
        world.ann.selects("#lab", "guarded").await;
        world
            .waits("#pad", |world| world.discord.channel("#pad"))
            .await;
        let made = world.agent_json("pad");
        assert_eq!(made["system_prompt"], "You are kind.");
        assert_eq!(made["permissions"], "guarded");
        assert_eq!(made["model"], "anthropic/scripted-model");
    })
    .await;
}
