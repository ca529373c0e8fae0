//! The turns of a schedule have no more rights than each person whose words it contains, and less than a person's turn.

use chrono::TimeDelta;
use serde_json::json;

use super::turns::{RUNS, plans};
use crate::world::{Setup, World, run_test_with};

fn open() -> Setup {
    Setup {
        config: json!({"default_permissions": "open"}),
        ..Setup::default()
    }
}

/// Has the model of the next turn record a decision; the turn ends with “Tried.”.
fn records(world: &World) {
    let decision = json!({"name": "record_decision", "arguments": {"text": "Walls are white"}});
    world
        .model
        .calls_tool("call_tool", decision)
        .answers("Tried.");
}

async fn has_decisions(world: &World) {
    let added = world
        .ann
        .asks("/decisions add text:Doors are red", "#lab")
        .await;
    assert!(added.contains("Decision 1 added"), "{added}");
}

#[tokio::test]
async fn all_people_behind_the_turn_that_planned_it() {
    run_test_with(open(), async |world| {
        has_decisions(world).await;
        let options = json!([{"label": "a"}, {"label": "b"}]);
        world
            .model
            .calls_tool("ask_person", json!({"question": "What?", "options": options}))
            .calls_tool(
                "schedule",
                json!({"action": "create", "when": "every 30 minutes", "prompt": "Decide.", "name": "later"}),
            )
            .answers("Planned.");
        world.ann.says("#lab", "ask somebody").await;
        world.sees("#lab", "[Other…]").await;
        world.bob.says("#lab", "decide it later").await;
        world.sees("#lab", "Planned.").await;
        let people = "SELECT (SELECT count(*) FROM schedules WHERE owner_id = p.user_id) || '' FROM schedule_people p";
        world.ledger_says(people, &["0"]).await;
        records(world);
        world.clock.moves(TimeDelta::minutes(31));
        world.sees("#lab", "Tried.").await;
        let told = world.model.last_request()["messages"].to_string();
        assert!(told.contains("needs the permission Manage Channels"), "{told}");
    })
    .await;
}

#[tokio::test]
async fn it_records_what_its_owner_may_but_changes_no_permissions() {
    run_test_with(open(), async |world| {
        has_decisions(world).await;
        plans(world, "when:every 30 minutes prompt:Decide. name:later").await;
        let closes =
            json!({"name": "self_edit_permissions", "arguments": {"new_profile": "locked"}});
        world.model.calls_tool("call_tool", closes);
        records(world);
        world.clock.moves(TimeDelta::minutes(31));
        world.sees("#lab", "Tried.").await;
        let told = world.model.last_request()["messages"].to_string();
        assert!(told.contains("so it changes no permissions"), "{told}");
        assert!(told.contains("Recorded as decision 2"), "{told}");
    })
    .await;
}

#[tokio::test]
async fn it_has_sub_agents() {
    run_test_with(open(), async |world| {
        plans(world, "when:every 30 minutes prompt:Work. name:work").await;
        let task = json!({"role": "general", "prompt": "Look.", "title": "a part"});
        world
            .model
            .calls_tool("sub_agent", task)
            .answers("The part is done.")
            .answers("All is done.");
        world.clock.moves(TimeDelta::minutes(31));
        world.sees("#lab", "All is done.").await;
        world.ledger_says(RUNS, &["work done"]).await;
        let children = "SELECT state || ' ' || (caused_by < 0) FROM turns WHERE kind = 'sub_agent'";
        world.ledger_says(children, &["finished 1"]).await;
    })
    .await;
}
