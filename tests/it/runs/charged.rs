//! Each request is charged to the person who began its run, and the ledger says which turns no person began.

use chorus_playground::model::wire::{Block, Reply};
use serde_json::{Value, json};

use super::run_test_with;
use crate::world::model::MODEL;
use crate::world::{Setup, World};

/// A world in which agents may do everything, and a token of output costs a tenth of a cent.
fn priced() -> Setup {
    Setup {
        config: json!({
            "default_permissions": "open",
            "models": {MODEL: {"input_price": 0, "output_price": 1000}},
        }),
        ..Setup::default()
    }
}

fn latest(request: &Value) -> String {
    let messages = request["messages"].as_array().unwrap();
    messages.last().unwrap().to_string()
}

fn says(text: &str, tokens: u64) -> Reply {
    Reply {
        output_tokens: tokens,
        ..Reply::new(vec![Block::Text(text.to_owned())])
    }
}

fn calls(tool: &str, arguments: Value) -> Reply {
    Reply {
        output_tokens: 10,
        ..Reply::new(vec![Block::Call(
            "toolu_0".to_owned(),
            tool.to_owned(),
            arguments,
        )])
    }
}

/// Root turns in their order: cause, and whether a person watches.
const CAUSES: &str =
    "SELECT coalesce(cause, 'message') || ' ' || unattended FROM turns ORDER BY rowid";

/// The money that each person is charged, and the number of rows.
async fn charged(world: &World) -> Vec<String> {
    let sql =
        "SELECT coalesce(user_id, 'nobody') || ' ' || printf('%.2f', sum(cost_usd)) FROM attempts
         WHERE provider <> '' GROUP BY user_id ORDER BY sum(cost_usd)";
    world.ledger(sql).await
}

#[tokio::test]
async fn each_person_is_charged_for_what_they_began() {
    run_test_with(priced(), async |world| {
        world.model.follows(|_| says("Answered.", 50));
        world.ann.says("#lab", "first").await;
        world.sees("#lab", "Answered.").await;
        world.model.follows(|_| says("Answered too.", 150));
        world.bob.says("#lab", "second").await;
        world.sees("#lab", "Answered too.").await;
        let (ann, bob) = (world.ann.id(), world.bob.id());
        assert_eq!(
            charged(world).await,
            [format!("{ann} 0.05"), format!("{bob} 0.15")]
        );
        assert_eq!(world.ledger(CAUSES).await, ["message 0", "message 0"]);
    })
    .await;
}

#[tokio::test]
async fn the_end_of_a_task_is_charged_to_whoever_began_its_turn_and_no_person_watches_it() {
    run_test_with(priced(), async |world| {
        world.model.follows(|request| match latest(request) {
            latest if latest.contains("tool_result") => says("It runs.", 10),
            latest if latest.contains("task_001") => says("It ended.", 30),
            _ => calls("run_concurrent", json!({"command": "echo looked"})),
        });
        world.bob.says("#lab", "watch it").await;
        world.sees("#lab", "It ended.").await;
        assert_eq!(world.ledger(CAUSES).await, ["message 0", "hook 1"]);
        assert_eq!(charged(world).await, [format!("{} 0.05", world.bob.id())]);
    })
    .await;
}

#[tokio::test]
async fn another_agents_turn_is_charged_to_the_person_of_the_sending_turn() {
    run_test_with(priced(), async |world| {
        world.makes_agent("desk").await;
        world.model.follows(|request| match latest(request) {
            latest if latest.contains("tool_result") => says("Sent.", 10),
            latest if latest.contains("please look") => says("Looked.", 30),
            _ => calls(
                "send_to_agent",
                json!({"agent": "desk", "message": "please look"}),
            ),
        });
        world.bob.says("#lab", "ask the desk").await;
        world.sees("#desk", "Looked.").await;
        world.sees("#lab", "Sent.").await;
        let causes = world.ledger(CAUSES).await;
        assert_eq!(causes, ["message 0", "peer 0"]);
        assert_eq!(charged(world).await, [format!("{} 0.05", world.bob.id())]);
    })
    .await;
}

/// A branch is as attended as the turn that opened it, whose person pays; its report begins a turn that no person began.
#[tokio::test]
async fn a_branch_that_a_turn_opens_is_a_peer_and_charged_to_the_person_of_that_turn() {
    run_test_with(priced(), async |world| {
        world.model.follows(|request| {
            let told = request.to_string();
            match () {
                () if told.contains("has ended.") => says("It says one.", 40),
                () if told.contains("You are `explore`, in a branch") => says("One TODO.", 30),
                () if told.contains("Branch #1 does it") => says("Somebody looks.", 10),
                () => calls(
                    "sub_agent",
                    json!({"role": "explore", "prompt": "Find TODO.", "title": "look", "wait": false}),
                ),
            }
        });
        world.bob.says("#lab", "have somebody look").await;
        world.sees("#lab", "It says one.").await;
        world.sees("#lab", "Somebody looks.").await;
        world
            .ledger_says(CAUSES, &["message 0", "peer 0", "hook 1"])
            .await;
        assert_eq!(charged(world).await, [format!("{} 0.09", world.bob.id())]);
    })
    .await;
}
