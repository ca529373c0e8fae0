//! The workspace as a git repository.

use std::process::Command;

use serde_json::json;

use super::uses;
use crate::world::{World, run_test};

/// What the real git says of the workspace.
fn git(world: &World, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "safe.directory=*", "-C"])
        .arg(world.workspace("lab"))
        .args(arguments)
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[tokio::test]
async fn work_is_committed_compared_and_branched() {
    run_test(async |world| {
        uses(
            world,
            "create_file",
            json!({"path": "a.txt", "content": "one\n"}),
        )
        .await
        .ok();
        if git(world, &["rev-parse", "--git-dir"]).is_empty() {
            uses(world, "git_init", json!({})).await.ok();
        }
        assert!(
            uses(world, "git_status", json!({}))
                .await
                .ok()
                .contains("a.txt")
        );
        uses(world, "git_commit", json!({"message": "Add a"}))
            .await
            .ok();
        assert_eq!(git(world, &["log", "-1", "--format=%s"]), "Add a");
        uses(
            world,
            "append_file",
            json!({"path": "a.txt", "content": "two\n"}),
        )
        .await
        .ok();
        assert!(
            uses(world, "git_diff", json!({}))
                .await
                .ok()
                .contains("+two")
        );
        uses(
            world,
            "git_checkout",
            json!({"ref": "topic", "create": true}),
        )
        .await
        .ok();
        uses(
            world,
            "git_commit",
            json!({"message": "Add two", "files": ["a.txt"]}),
        )
        .await
        .ok();
        assert_eq!(git(world, &["branch", "--show-current"]), "topic");
        assert!(
            uses(world, "git_branch", json!({}))
                .await
                .ok()
                .contains("topic")
        );
        let log = uses(world, "git_log", json!({"oneline": true})).await.ok();
        assert!(log.contains("Add two") && log.contains("Add a"), "{log}");
    })
    .await;
}

#[tokio::test]
async fn a_push_to_a_host_that_nobody_configured_is_refused() {
    run_test(async |world| {
        uses(
            world,
            "create_file",
            json!({"path": "a.txt", "content": "one\n"}),
        )
        .await
        .ok();
        if git(world, &["rev-parse", "--git-dir"]).is_empty() {
            uses(world, "git_init", json!({})).await.ok();
        }
        uses(world, "git_commit", json!({"message": "Add a"}))
            .await
            .ok();
        git(
            world,
            &["remote", "add", "origin", "https://git.invalid/x.git"],
        );
        let reason = uses(
            world,
            "git_push",
            json!({"remote": "origin", "branch": "main"}),
        )
        .await
        .refused();
        assert!(reason.contains("git.invalid"), "{reason}");
    })
    .await;
}
