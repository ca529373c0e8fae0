//! Who answers a question, or denies a call with a reason, is behind the turn from then on: it does nothing for which they
//! lack the right.

use chorus_playground::Rights;
use serde_json::json;

use super::{card, question};
use crate::world::{Setup, World, run_test_with};

const NEEDS: &str = "needs the permission Manage Channels";

/// An agent that may do everything, in a server with a decision, so that its model can record more.
fn open() -> Setup {
    Setup {
        config: json!({"default_permissions": "open"}),
        ..Setup::default()
    }
}

async fn has_decisions(world: &World) {
    let added = world
        .ann
        .asks("/decisions add text:Doors are red", "#lab")
        .await;
    assert!(added.contains("Decision 1 added"), "{added}");
}

/// Ends the turn with a decision that its model records. Returns what the model was told.
fn records(world: &World) {
    let decision = json!({"name": "record_decision", "arguments": {"text": "Walls are white"}});
    world
        .model
        .calls_tool("call_tool", decision)
        .answers("Tried.");
}

async fn told(world: &World) -> String {
    world.sees("#lab", "Tried.").await;
    world.model.last_request()["messages"].to_string()
}

#[tokio::test]
async fn who_answers_in_words_of_their_own() {
    run_test_with(open(), async |world| {
        has_decisions(world).await;
        world.model.calls_tool("ask_person", question(2));
        records(world);
        world.ann.says("#lab", "what about the walls?").await;
        card(world).await;
        let press = world.bob.clicks("#lab", "Other…").await;
        world.bob.fills(press, &[("answer", "Record it.")]).await;
        let told = told(world).await;
        assert!(told.contains(NEEDS), "{told}");
    })
    .await;
}

#[tokio::test]
async fn who_answers_after_a_restart() {
    run_test_with(open(), async |world| {
        has_decisions(world).await;
        world.model.calls_tool("ask_person", question(2));
        records(world);
        world.ann.says("#lab", "what about the walls?").await;
        card(world).await;
        world.kills().await;
        world.starts().await;
        let waits = "SELECT state FROM resumes WHERE state = 'question'";
        world.ledger_says(waits, &["question"]).await;
        world.bob.clicks("#lab", "Live").await;
        let told = told(world).await;
        assert!(told.contains(NEEDS), "{told}");
    })
    .await;
}

#[tokio::test]
async fn who_gives_a_reason_for_a_denial() {
    let profile = json!({"allow": ["tool:self_edit:.*"], "ask": ["tool:bash:.*"], "deny": []});
    let setup = Setup {
        config: json!({"profiles": {"asking": profile}, "default_permissions": "asking"}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        has_decisions(world).await;
        let approver = world.bob.person.gets_role("approver", Rights::default());
        let added = format!("/settings approvers change:add role:{}", approver.0);
        world.ann.asks(&added, "#lab").await;
        world
            .model
            .calls_tool("bash", json!({"command": "touch one.txt"}));
        records(world);
        world.ann.says("#lab", "make it").await;
        world.question("#lab").await;
        let press = world.bob.clicks("#lab", "Deny with a reason").await;
        world
            .bob
            .fills(press, &[("reason", "Record it instead.")])
            .await;
        let told = told(world).await;
        assert!(told.contains("Record it instead."), "{told}");
        assert!(told.contains(NEEDS), "{told}");
    })
    .await;
}
