//! The tool `schedule`: what a model plans belongs to the person who asked for it.

use chrono::TimeDelta;
use serde_json::json;

use super::turns::RUNS;
use crate::world::{Setup, run_test, run_test_with};

#[tokio::test]
async fn remind_me_works_the_first_time() {
    run_test(async |world| {
        world.model.calls_tool(
            "schedule",
            json!({"action": "remind", "when": "in 20 minutes", "prompt": "the report", "timezone": "Europe/Berlin"}),
        );
        world.model.answers("I will remind you.");
        world.bob.says("#lab", "remind me in 20 minutes of the report").await;
        let question = world.question("#lab").await;
        let card = world.discord.shown(&question);
        for part in ["the report", "Europe/Berlin", "once", "next:"] {
            assert!(card.contains(part), "{part}: {card}");
        }
        assert!(!card.contains("Always allow"), "{card}");
        assert_eq!(world.ledger("SELECT count(*) || '' FROM schedules").await, ["0"]);
        world.ann.clicks("#lab", "Allow").await;
        world.sees("#lab", "I will remind you.").await;
        world.clock.moves(TimeDelta::minutes(21));
        let said = format!("<@{}> Reminder: the report", world.bob.id());
        world
            .waits("the reminder", |world| {
                let messages = world.messages("#lab");
                messages.iter().any(|one| one.content.contains(&said)).then_some(())
            })
            .await;
        world.ledger_says(RUNS, &["reminder done"]).await;
    })
    .await;
}

#[tokio::test]
async fn it_creates_lists_and_deletes_and_nobody_behind_an_unattended_turn_has_it() {
    let setup = Setup {
        config: json!({"default_permissions": "open"}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.model.calls_tool(
            "schedule",
            json!({"action": "create", "when": "every 30 minutes", "prompt": "Look.", "name": "look", "gate": "echo news"}),
        );
        world.model.answers("Planned.");
        world.bob.says("#lab", "look every half hour").await;
        world.sees("#lab", "Planned.").await;
        // Nobody was asked, so the channel is told.
        world.sees("#lab", "`look` of ").await;
        world
            .ledger_says("SELECT owner_id || ' ' || gate || coalesce(gate_binding, '') FROM schedules", &[&format!("{} echo news", world.bob.id())])
            .await;
        world.model.calls_tool("schedule", json!({"action": "create", "when": "daily at 9:00", "prompt": "More."}));
        world.model.answers("I could not.");
        world.clock.moves(TimeDelta::minutes(31));
        world.sees("#lab", "I could not.").await;
        let requests = world.model.requests();
        let unattended = requests.iter().find(|request| request["messages"].to_string().contains("is due")).unwrap();
        let tools = unattended["tools"].as_array().unwrap();
        assert!(tools.iter().all(|tool| tool["name"] != "schedule"), "{tools:?}");
        let refused = world.model.last_request()["messages"].to_string();
        assert!(refused.contains("no person began this turn"), "{refused}");
        world.model.calls_tool("schedule", json!({"action": "list"}));
        world.model.answers("One thing.");
        world.ann.says("#lab", "what is planned?").await;
        world.sees("#lab", "One thing.").await;
        let listed = world.model.last_request()["messages"].to_string();
        assert!(listed.contains("look (turn, every 30 minutes"), "{listed}");
        world.model.calls_tool("schedule", json!({"action": "delete", "name": "look"}));
        world.model.answers("Deleted it.");
        world.ann.says("#lab", "delete it").await;
        world.sees("#lab", "Deleted it.").await;
        world.ledger_says("SELECT state FROM schedules", &["ended"]).await;
    })
    .await;
}

#[tokio::test]
async fn a_gate_is_judged_as_a_command() {
    let profile = json!({"allow": ["tool:schedule:.*"], "ask": [], "deny": ["tool:bash:.*"]});
    let setup = Setup {
        config: json!({"profiles": {"planner": profile}, "default_permissions": "planner"}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        let plan = json!({"action": "create", "when": "daily at 9:00", "prompt": "Look.", "gate": "echo news"});
        world.model.calls_tool("schedule", plan);
        world.model.answers("Denied.");
        world.ann.says("#lab", "plan it").await;
        world.sees("#lab", "Denied.").await;
        let told = world.model.last_request()["messages"].to_string();
        assert!(told.contains("for it runs a command"), "{told}");
        assert_eq!(world.ledger("SELECT count(*) || '' FROM schedules").await, ["0"]);
    })
    .await;
}
