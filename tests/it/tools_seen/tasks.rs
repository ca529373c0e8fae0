//! Long-running commands: started, listed, read, ended, and what they set off.

use serde_json::json;

use super::{is_used, uses};
use crate::world::model::MODEL;
use crate::world::{Setup, World, run_test, run_test_with};

/// The id of the only task.
fn task_id(text: &str) -> String {
    let (_, after) = text
        .split_once('[')
        .unwrap_or_else(|| panic!("no task in {text}"));
    after.split(']').next().unwrap().to_owned()
}

async fn asks(world: &World, command: &str) -> String {
    world.ann.asks(command, "#lab").await
}

#[tokio::test]
async fn a_background_task_is_listed_read_and_killed_by_people() {
    run_test(async |world| {
        let command = "echo begun; sleep 600";
        uses(world, "run_background", json!({"command": command}))
            .await
            .ok();
        let list = asks(world, "/process list").await;
        assert!(list.contains("sleep 600"), "{list}");
        let tasks = asks(world, "/tasks").await;
        assert_eq!(list, tasks);
        let id = task_id(&tasks);
        world
            .waits_for_reply(&format!("/process logs id:{id}"), "begun")
            .await;
        let status = asks(world, "/status").await;
        assert!(
            status.contains("Running tasks:") && status.contains("sleep 600"),
            "{status}"
        );
        asks(world, &format!("/process kill id:{id}")).await;
        world.waits_for_reply("/tasks", "(none)").await;
        assert!(
            uses(world, "list_tasks", json!({}))
                .await
                .ok()
                .contains(&id)
        );
        let output = uses(world, "read_task_output", json!({"id": id}))
            .await
            .ok();
        assert!(output.contains("begun"), "{output}");
    })
    .await;
}

#[tokio::test]
async fn the_end_of_a_background_task_is_told_in_the_channel() {
    run_test(async |world| {
        world.model.always_answers("ended", "I saw that it ended.");
        uses(
            world,
            "run_background",
            json!({"command": "echo fine; exit 3"}),
        )
        .await
        .ok();
        world
            .shows("#lab", |text| text.contains("exit") && text.contains('3'))
            .await;
    })
    .await;
}

#[tokio::test]
async fn the_turn_that_a_hook_starts_has_the_model_of_the_hook() {
    let other = "other-model";
    let setup = Setup {
        config: json!({"default_permissions": "open"}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.model.lists(&[MODEL, other]);
        world.ann.asks("/settings validate-keys", "#general").await;
        let task = |model: &str| {
            json!({"command": "exit 3", "instructions": "if it fails, look into it", "model": model})
        };
        let near = uses(world, "run_background", task("othermodel")).await;
        assert!(near.is_error, "{near:?}");
        assert_eq!(near.text, format!("There is no model `othermodel`. Did you mean `{other}`?"));
        let hook = r#"[{"trigger": {"type": "on_exit"}, "action": "spawn_branch", "context_message": "why?"}]"#;
        world.model.always_answers("why?", "A missing file.");
        world
            .model
            .calls_tool("run_background", task(other))
            .answers(hook);
        is_used(world, "run_background").await.ok();
        let shown = world.sees("#lab", "A missing file.").await;
        let footer = format!("-# Answered by `{other}`, not by `{MODEL}`.");
        assert!(shown.contains(&footer), "{shown}");
        let list = asks(world, "/process list").await;
        assert!(list.contains(&format!("spawn_branch with anthropic/{other}")), "{list}");
    })
    .await;
}
