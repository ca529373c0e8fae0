//! Long-running commands: started, listed, read, ended, and what they set off.

use serde_json::json;

use super::uses;
use crate::world::{World, run_test};

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
        let id = task_id(&asks(world, "/tasks").await);
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
