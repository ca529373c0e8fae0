//! What one message may cause: turns that begin without a person are bounded, whichever way they begin.

use chorus_playground::model::wire::{Block, Reply};
use serde_json::{Value, json};

use super::run_test_with;
use crate::world::{Setup, World};

/// The latest thing that the model was told, whoever said it.
fn latest(request: &Value) -> String {
    let messages = request["messages"].as_array().unwrap();
    messages.last().unwrap().to_string()
}

fn said(text: &str) -> Reply {
    Reply::new(vec![Block::Text(text.to_owned())])
}

fn calls(calls: &[(&str, Value)]) -> Reply {
    let blocks = calls.iter().enumerate().map(|(at, (tool, arguments))| {
        Block::Call(format!("toolu_{at}"), (*tool).to_owned(), arguments.clone())
    });
    Reply::new(blocks.collect())
}

/// A world in which agents may do everything, and so many hops are allowed.
fn open(hops: u32) -> Setup {
    Setup {
        config: json!({"default_permissions": "open", "max_hook_recursion_depth": hops}),
        ..Setup::default()
    }
}

const TASK: &str = "run_concurrent";

/// Turns that no person began.
const CAUSED: &str =
    "SELECT count(*) || '' FROM turns WHERE parent_id IS NOT NULL AND kind = 'turn'";

/// Nothing runs, and nothing waits to be run.
async fn is_at_rest(world: &World) {
    world
        .ledger_says(
            "SELECT count(*) || '' FROM tasks WHERE status = 'running'",
            &["0"],
        )
        .await;
    world
        .ledger_says(
            "SELECT count(*) || '' FROM turns WHERE state = 'running'",
            &["0"],
        )
        .await;
}

#[tokio::test]
async fn a_task_that_starts_the_next_one_ends_after_three_hops_and_what_came_later_is_told() {
    run_test_with(open(3), async |world| {
        world.model.follows(|request| {
            let latest = latest(request);
            match () {
                () if latest.contains("what happened") => said("All of it."),
                () if latest.contains("tool_result") => said("Started the next."),
                () => calls(&[(TASK, json!({"command": "echo looked"}))]),
            }
        });
        world.ann.says("#lab", "watch it").await;
        let told = world.sees("#lab", "No turn begins for it").await;
        assert!(told.contains("**task_004** completed (exit 0"), "{told}");
        assert!(
            told.contains("one message may lead to 3 hops in a row"),
            "{told}"
        );
        assert!(
            told.contains("Write to the agent to let it continue"),
            "{told}"
        );
        assert!(told.contains("looked"), "{told}");
        is_at_rest(world).await;
        // Three jobs in a row are done, and the end of the fourth begins nothing.
        world.ledger_says(CAUSED, &["3"]).await;
        assert_eq!(
            world.transcript("#lab").matches("No turn begins").count(),
            1
        );
        // The model knew before.
        let results: Vec<String> = world
            .model
            .requests()
            .iter()
            .flat_map(super::results_of)
            .collect();
        let last = results.last().unwrap();
        assert!(last.contains("No turn begins when it ends"), "{last}");

        world.restarts().await;
        world.ann.says("#lab", "what happened?").await;
        world.sees("#lab", "All of it.").await;
        let request = world.model.last_request().to_string();
        assert!(request.contains("and began no turn"), "{request}");
        assert!(request.contains("[task_004 completed (exit 0"), "{request}");
        world
            .ledger_says("SELECT count(*) || '' FROM kept_notes", &["0"])
            .await;
        // It is told once.
        world.ann.says("#lab", "and what happened then?").await;
        world
            .waits("the second answer", |world| {
                (world.transcript("#lab").matches("All of it.").count() == 2).then_some(())
            })
            .await;
        let request = world.model.last_request().to_string();
        assert_eq!(request.matches("and began no turn").count(), 1, "{request}");
    })
    .await;
}

#[tokio::test]
async fn one_message_causes_twenty_turns_in_an_hour_however_many_chains_it_starts() {
    run_test_with(open(10), async |world| {
        world.makes_agent("ada").await;
        world.model.follows(|request| {
            let latest = latest(request);
            match () {
                () if latest.contains("how is it") => said("It is quiet."),
                () if latest.contains("tool_result") => said("Done."),
                () if request.to_string().contains("You are `general`, in a branch") => said("Branch done."),
                () => calls(&[
                    (TASK, json!({"command": "true"})),
                    (TASK, json!({"command": "true"})),
                    ("send_to_agent", json!({"agent": "ada", "message": "go on"})),
                    ("send_to_agent", json!({"agent": "lab", "message": "go on"})),
                    ("sub_agent", json!({"role": "general", "prompt": "go", "title": "go", "wait": false})),
                ]),
            }
        });
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "this one has").await;
        is_at_rest(world).await;
        world.ledger_says(CAUSED, &["20"]).await;
        world.restarts().await;
        is_at_rest(world).await;
        world.ledger_says(CAUSED, &["20"]).await;
        // A person's message is another root.
        world.ann.says("#lab", "how is it?").await;
        world.sees("#lab", "It is quiet.").await;
        // An hour later the same message may cause more.
        world.changes_ledger("UPDATE turns SET began_at = '2020-01-01T00:00:00.000000Z' WHERE caused_by IS NOT NULL").await;
    })
    .await;
}

#[tokio::test]
async fn sub_agents_that_are_waited_for_count_to_the_twenty() {
    run_test_with(open(10), async |world| {
        let child = (
            "sub_agent",
            json!({"role": "general", "prompt": "count", "title": "count"}),
        );
        let branch = (
            "sub_agent",
            json!({"role": "general", "prompt": "go", "title": "go", "wait": false}),
        );
        world.model.follows(move |request| {
            let latest = latest(request);
            match () {
                () if request.to_string().contains("a sub-agent of `lab`") => said("Counted."),
                () if latest.contains("tool_result") => said("Done."),
                () => calls(&[
                    branch.clone(),
                    branch.clone(),
                    child.clone(),
                    child.clone(),
                    child.clone(),
                    (TASK, json!({"command": "true"})),
                ]),
            }
        });
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "this one has").await;
        is_at_rest(world).await;
        let all = "SELECT count(*) || '' FROM turns WHERE parent_id IS NOT NULL";
        world.ledger_says(all, &["20"]).await;
    })
    .await;
}

#[tokio::test]
async fn the_twenty_first_sub_agent_of_a_message_is_refused_with_the_reason() {
    let setup = Setup {
        config: json!({"default_permissions": "open", "orchestration": {"max_children": 100}}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        let child = (
            "sub_agent",
            json!({"role": "general", "prompt": "count", "title": "count"}),
        );
        world.model.follows(move |request| {
            let latest = latest(request);
            match () {
                () if request.to_string().contains("a sub-agent of `lab`") => said("Counted."),
                () if latest.contains("this one has; do it yourself") => said("Enough."),
                () => calls(&vec![child.clone(); 7]),
            }
        });
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "Enough.").await;
        let all = "SELECT count(*) || '' FROM turns WHERE parent_id IS NOT NULL";
        world.ledger_says(all, &["20"]).await;
        // Another message may cause as many.
        world.ann.says("#lab", "go on").await;
        world.ledger_says(all, &["40"]).await;
    })
    .await;
}

#[tokio::test]
async fn a_message_that_joins_a_turn_is_what_it_causes_from_then_on() {
    run_test_with(open(1), async |world| {
        world.model.follows(|request| {
            let latest = latest(request);
            match () {
                () if latest.contains("tool_result") => said("Started."),
                () => calls(&[(TASK, json!({"command": "true"}))]),
            }
        });
        let thought = world.model.is_thinking();
        world.ann.says("#lab", "one").await;
        world.model.was_asked(1).await;
        world.bob.says("#lab", "two").await;
        thought.ends();
        world.sees("#lab", "No turn begins for it").await;
        is_at_rest(world).await;
        let by = "SELECT DISTINCT (t.caused_by = (SELECT max(message_id) FROM inbound)) || '' FROM turns t WHERE t.caused_by IS NOT NULL";
        world.ledger_says(by, &["1"]).await;
    })
    .await;
}
