//! A package without a version is started with the one that a person approved.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::{SERVER, calls, entry, writes_file, written};
use crate::world::{Setup, Way, run_test_with};

#[tokio::test]
async fn a_newer_version_starts_only_after_it_was_approved() {
    let stubs = tempfile::tempdir().unwrap();
    let stub = |name: &str, text: &str| {
        let file = stubs.path().join(name);
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    };
    let newest = |version: &str| stub("npm", &format!("#!/usr/bin/env bash\necho {version}\n"));
    newest("1.2.3");
    let script = format!("#!/usr/bin/env python3\n{SERVER}");
    stub("npx", &script);
    let path = std::env::var("PATH").unwrap();
    let setup = Setup {
        way: Way::Program,
        env: vec![("PATH", format!("{}:{path}", stubs.path().display()))],
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        let mut own = entry();
        own["command"] = json!("npx");
        own["args"] = json!(["pkg"]);
        writes_file(world, &json!({ "tracker": own }));
        world.ann.asks("/mcp approve server:tracker", "#lab").await;
        world.ann.clicks("#lab", "Approve, ask each time").await;
        world.sees("#lab", "approved MCP server").await;
        world.edits_agent_json("lab", json!({"permissions": "open"}));
        newest("2.0.0");
        calls(world, "mcp__tracker__get_issue", json!({"number": 1})).await;
        let started = |world: &crate::world::World| -> Vec<String> {
            let all = written(world, "tracker", "started").into_iter();
            all.filter_map(|line| Some(line.split_once(' ')?.1.to_owned()))
                .collect()
        };
        assert_eq!(started(world), ["-y pkg@1.2.3", "-y pkg@1.2.3"]);
        world.ann.asks("/mcp approve server:tracker", "#lab").await;
        world.ann.clicks("#lab", "Approve, ask each time").await;
        world
            .ledger_says(
                "SELECT resolved_version || ' ' || state FROM mcp_servers",
                &["pkg@2.0.0 approved"],
            )
            .await;
        calls(world, "mcp__tracker__get_issue", json!({"number": 1})).await;
        assert_eq!(
            started(world).last().map(String::as_str),
            Some("-y pkg@2.0.0")
        );
        stub("npm", "#!/usr/bin/env bash\nexit 1\n");
        let failed = world.ann.asks("/mcp approve server:tracker", "#lab").await;
        assert!(
            failed.contains("cannot find the version of pkg; write pkg"),
            "{failed}"
        );
    })
    .await;
}
