//! Which tools of servers a role, a mode and a stage have.

use std::fs;

use serde_json::json;

use super::{calls, entry, has_tracker, writes_file};
use crate::world::{World, run_test};

/// Writes the charter of `lab`.
fn is_chartered(world: &World, tools: &str) {
    let charter = format!("---\nname: lab\ndescription: Works.\n{tools}---\nWork.\n");
    fs::write(world.home().join("agents/lab/charter.md"), charter).unwrap();
}

fn system(world: &World) -> String {
    world.model.last_request()["system"].to_string()
}

#[tokio::test]
async fn a_charter_names_servers_and_tools() {
    run_test(async |world| {
        has_tracker(world).await;
        writes_file(world, &json!({ "tracker": entry(), "other": entry() }));
        world.ann.asks("/mcp approve server:other", "#lab").await;
        world.ann.clicks("#lab", "Approve, ask each time").await;
        world.sees("#lab", "approved MCP server `other`").await;
        let cases = [
            ("", true, true),
            ("tools: [view]\n", false, false),
            ("tools: [mcp__tracker]\n", true, false),
            ("tools: [view, other/get_issue]\n", false, true),
            ("tools: [nowhere/*]\n", false, false),
            ("disallowedTools: [tracker/*]\n", false, true),
        ];
        for (number, (tools, tracker, other)) in cases.into_iter().enumerate() {
            is_chartered(world, tools);
            world.exchange("hello", &format!("Answer {number}.")).await;
            let said = system(world);
            assert_eq!(said.contains("tracker: "), tracker, "{tools}: {said}");
            assert_eq!(said.contains("other: "), other, "{tools}: {said}");
        }
        is_chartered(world, "tools: [other/get_issue]\n");
        let refused = calls(world, "mcp__other__create_issue", json!({"title": "a"})).await;
        assert!(refused.contains("not permitted"), "{refused}");
    })
    .await;
}

#[tokio::test]
async fn modes_without_tools_have_none() {
    run_test(async |world| {
        has_tracker(world).await;
        for mode in ["lightweight", "direct"] {
            world.edits_agent_json("lab", json!({"mode": mode}));
            world.exchange("hello", &format!("In {mode}.")).await;
            assert!(!system(world).contains("tracker"), "{mode}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_request_of_an_agent_without_servers_is_what_it_was() {
    run_test(async |world| {
        world.exchange("hello", "Hello.").await;
        let before = world.model.last_request();
        writes_file(world, &json!({}));
        world.exchange("hello", "Hello again.").await;
        let after = world.model.last_request();
        assert_eq!(before["tools"], after["tools"]);
        let tools = before["tools"].as_array().unwrap();
        let finder = tools
            .iter()
            .find(|tool| tool["name"] == "find_tools")
            .unwrap();
        assert!(!finder.to_string().contains("server"), "{finder}");
    })
    .await;
}
