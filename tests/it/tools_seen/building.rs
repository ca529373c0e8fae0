//! A real build, with the settings that a new agent has.

use serde_json::json;

use super::uses;
use crate::not_run::{Missing, not_run};
use crate::world::run_test;

#[tokio::test]
async fn a_crate_is_checked_in_the_sandbox_after_one_yes() {
    run_test(async |world| {
        let manifest = "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
        uses(
            world,
            "create_file",
            json!({"path": "Cargo.toml", "content": manifest}),
        )
        .await
        .ok();
        let source = "pub fn four() -> u8 {\n    2 + 2\n}\n";
        uses(
            world,
            "create_file",
            json!({"path": "src/lib.rs", "content": source}),
        )
        .await
        .ok();
        let output = uses(
            world,
            "bash",
            json!({"command": "cargo check --offline 2>&1"}),
        )
        .await
        .text;
        if output.contains("command not found") {
            not_run(&Missing::Machine("no cargo within reach of the sandbox"));
            return;
        }
        assert!(output.contains("Finished"), "{output}");
        let shown = world.transcript("#lab");
        assert_eq!(shown.matches("asks for permission").count(), 1, "{shown}");
    })
    .await;
}
