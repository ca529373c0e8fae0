//! A backup made while the daemon works, and the home that it becomes.

use std::fs;

use serde_json::json;

use super::{command, program, seen};
use crate::world::{Setup, run_test_with};

#[tokio::test]
async fn a_home_restored_from_a_running_daemons_backup_goes_on() {
    let setup = Setup {
        config: json!({ "default_permissions": "open" }),
        ..program(Vec::new())
    };
    run_test_with(setup, async |world| {
        let file = json!({ "path": "notes.txt", "content": "the answer is 42\n" });
        world
            .model
            .calls_tool("create_file", file)
            .answers("Written down.");
        world.ann.says("#lab", "write it down").await;
        world.sees("#lab", "Written down.").await;
        world
            .ann
            .asks("/context save description:What we know", "#lab")
            .await;
        let listed = seen(&mut command(world, &["sessions", "list"])).await;
        assert!(listed.out.contains("What we know"), "{}", listed.out);

        let folder = tempfile::tempdir().unwrap();
        let saved = folder.path().join("saved.tar.gz");
        let thought = world.model.is_thinking();
        world.ann.says("#lab", "and think on").await;
        let made = seen(&mut command(world, &["backup", saved.to_str().unwrap()])).await;
        assert_eq!(made.code, 0, "{}", made.err);
        thought.ends();

        let fresh = folder.path().join("fresh");
        let at_fresh = |arguments: &[&str]| {
            let mut run = command(world, arguments);
            run.env("CHORUS_HOME", &fresh);
            run
        };
        let checked = seen(&mut at_fresh(&[
            "restore",
            "--check",
            saved.to_str().unwrap(),
        ]))
        .await;
        assert_eq!(checked.code, 0, "{}", checked.err);
        assert!(!fresh.exists(), "checking wrote something");
        let restored = seen(&mut at_fresh(&[
            "restore",
            "--yes",
            saved.to_str().unwrap(),
        ]))
        .await;
        assert_eq!(restored.code, 0, "{}", restored.err);
        let again = seen(&mut at_fresh(&["sessions", "list"])).await;
        assert_eq!(again.out, listed.out);
        let notes = fs::read_to_string(fresh.join("agents/lab/workspace/notes.txt")).unwrap();
        assert_eq!(notes, "the answer is 42\n");
    })
    .await;
}
