//! Commands that take all they can, while other agents answer.

use std::time::Duration;

use serde_json::json;

use super::uses;
use crate::world::{World, run_test};

/// Another agent answers while the command of `#lab` goes on.
async fn another_answers_meanwhile(world: &mut World, command: &str) {
    world.ann.runs("/agent init name:other", "#general").await;
    world
        .waits("#other", |world| world.discord.channel("other"))
        .await;
    world.sees("#other", "is ready").await;
    world
        .model
        .calls_tool("bash", json!({"command": command, "timeout": 5}));
    world.model.always_answers("please go on", "That was it.");
    world.ann.says("#lab", "please go on").await;
    world.question("#lab").await;
    world.ann.clicks("#lab", "Allow").await;
    let begun = world.workspace("lab").join("begun");
    let patience = tokio::time::timeout(Duration::from_secs(60), async {
        while !begun.exists() {
            world.ann.asks("/ping", "#other").await;
        }
    });
    assert!(
        patience.await.is_ok(),
        "the command never began\n{}",
        world.report()
    );
    world.model.always_answers("are you there", "Yes, I am.");
    world.ann.says("#other", "are you there?").await;
    world.sees("#other", "Yes, I am.").await;
}

#[tokio::test]
async fn a_gigabyte_of_output() {
    run_test(async |world| {
        let command = "touch begun; head -c 1000000000 /dev/zero | tr '\\0' 'x'";
        let output = uses(world, "bash", json!({"command": command, "timeout": 60}))
            .await
            .text;
        assert!(output.len() < 60_000, "{}", output.len());
        assert!(output.contains("tool_output"), "no handle for the rest");
    })
    .await;
}

#[tokio::test]
async fn a_fork_bomb_keeps_no_one_else_from_answering() {
    run_test(async |world| {
        another_answers_meanwhile(world, "touch begun; while true; do sleep 5 & done").await;
        world.sees("#lab", "That was it.").await;
    })
    .await;
}

#[tokio::test]
async fn eight_gibibytes_of_memory_are_not_had() {
    run_test(async |world| {
        let command =
            "touch begun; python3 -c 'b = bytearray(8 << 30); print(len(b))' || tail /dev/zero";
        let output = uses(world, "bash", json!({"command": command, "timeout": 20})).await;
        assert!(!output.text.contains("8589934592"), "{}", output.text);
    })
    .await;
}

#[tokio::test]
async fn a_sleeper_that_holds_the_pipe_is_gone_after_the_timeout() {
    run_test(async |world| {
        let command = "echo begun; (setsid sleep 7654 &) ; sleep 7654";
        let output = uses(world, "bash", json!({"command": command, "timeout": 1}))
            .await
            .text;
        assert!(output.contains("begun"), "{output}");
        let left = std::process::Command::new("pgrep")
            .args(["-f", "sleep 7654"])
            .output()
            .unwrap();
        assert!(left.stdout.is_empty(), "somebody sleeps on");
    })
    .await;
}
