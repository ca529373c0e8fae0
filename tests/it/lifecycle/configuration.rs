//! A hand in `agent.json`: what cannot be used is told with its place, and what held before goes on holding.

use serde_json::{Value, json};

use super::{folder, talks};
use crate::world::{World, run_test};

/// Writes a key into an agent's file as a person would.
fn writes(world: &World, key: &str, value: &Value) {
    let path = folder(world, "lab").join("agent.json");
    let mut file: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    file[key] = value.clone();
    // At once, as editors do: half a file would be told of too.
    let new = path.with_file_name("new.json");
    std::fs::write(&new, serde_json::to_string_pretty(&file).unwrap()).unwrap();
    std::fs::rename(new, path).unwrap();
}

/// The names of the tools of the latest request.
fn tools(world: &World) -> usize {
    let request = world.model.last_request();
    request["tools"].as_array().map_or(0, Vec::len)
}

#[tokio::test]
async fn a_value_that_cannot_be_used_is_told_and_the_last_good_ones_hold() {
    let broken = [
        ("permissions", json!({"allow": ["("], "ask": []}), "("),
        ("permissions", json!({}), "allow"),
        ("permissions", json!("no-such-profile"), "no-such-profile"),
        (
            "permissions",
            json!({"allow": [], "ask": [], "denny": []}),
            "denny",
        ),
        ("permissions", json!(5), "permissions"),
        ("idle_timeout", json!(-1), "-1"),
        ("idle_timeout", json!(u64::MAX), "idle_timeout"),
        ("turn_timeout", json!(0), "turn_timeout"),
        ("budget_turn", json!(-0.5), "budget_turn"),
        ("budget_day", json!(-1), "budget_day"),
        ("sandbox", json!("sometimes"), "sometimes"),
        ("access_roles", json!("everyone"), "everyone"),
        ("system_prompt", json!(7), "7"),
        ("fallback_models", json!([7]), "7"),
    ];
    run_test(async |world| {
        talks(world, "#lab", "All is well.").await;
        let (good, tools_before) = (world.agent_json("lab"), tools(world));
        assert!(tools_before > 10);
        for (number, (key, value, named)) in broken.iter().enumerate() {
            writes(world, key, value);
            talks(world, "#lab", &format!("Turn {number} of many.")).await;
            talks(world, "#lab", &format!("And once more, {number}.")).await;
            let seen = world.transcript("#lab");
            let told: Vec<&str> = seen
                .lines()
                .filter(|line| line.contains("last good configuration stays in use"))
                .collect();
            assert_eq!(told.len(), number + 1, "{key} = {value}: told once\n{seen}");
            let latest = told.last().unwrap();
            assert!(
                latest.contains("agent.json, line ") && latest.contains(named),
                "{key} = {value}: {latest}"
            );
            assert_eq!(tools(world), tools_before, "{key} = {value}");
            writes(world, key, &good[*key]);
            talks(world, "#lab", &format!("Mended, {number}.")).await;
            let seen = world.transcript("#lab");
            let mended = seen.matches("is valid again").count();
            assert_eq!(mended, number + 1, "{key} = {value}\n{seen}");
        }
    })
    .await;
}

#[tokio::test]
async fn the_line_is_that_of_the_key() {
    run_test(async |world| {
        talks(world, "#lab", "All is well.").await;
        let text = "{\n  \"name\": \"lab\",\n  \"system_prompt\": \"a \\\"permissions\\\": b\",\n  \"nested\": {\"permissions\": 1},\n  \"permissions\": {\n    \"allow\": [\"(\"],\n    \"ask\": []\n  }\n}\n";
        std::fs::write(folder(world, "lab").join("agent.json"), text).unwrap();
        talks(world, "#lab", "Told.").await;
        world.sees("#lab", "agent.json, line 5").await;
    })
    .await;
}

#[tokio::test]
async fn nothing_is_said_of_a_last_good_one_where_there_is_none() {
    run_test(async |world| {
        world.stops().await;
        writes(world, "permissions", &json!("no-such-profile"));
        world.starts().await;
        world.model.answers("I can do little.");
        world.ann.says("#lab", "who are you?").await;
        let seen = world.sees("#lab", "no-such-profile").await;
        assert!(!seen.contains("last good configuration"), "{seen}");
    })
    .await;
}

#[tokio::test]
async fn status_says_what_is_wrong() {
    run_test(async |world| {
        writes(world, "permissions", &json!("no-such-profile"));
        let status = world.ann.asks("/status", "#lab").await;
        assert!(
            status.contains("agent.json, line ") && status.contains("no-such-profile"),
            "{status}"
        );
        let mended = world
            .ann
            .asks(
                "/agent config name:lab key:permissions value:standard",
                "#general",
            )
            .await;
        assert!(mended.contains("is now `standard`"), "{mended}");
        let status = world.ann.asks("/status", "#lab").await;
        assert!(status.contains("Permissions: standard"), "{status}");
    })
    .await;
}

/// How often the channel was told of a file that cannot be used.
fn told(world: &World) -> usize {
    world.transcript("#lab").matches("cannot be used").count()
}

/// Nobody has to write for it, a turn does not say it again, and neither does a restart; another version is another fault.
#[tokio::test]
async fn a_file_that_was_broken_at_the_start_is_told_of_once_for_each_version() {
    run_test(async |world| {
        talks(world, "#lab", "All is well.").await;
        let path = folder(world, "lab").join("agent.json");
        let good = std::fs::read_to_string(&path).unwrap();
        let broken = [
            (
                "{\n  \"name\": \"lab\",\n  \"model\": oops\n}\n".to_owned(),
                "line 3",
            ),
            (
                good.replacen(
                    "\"permissions\": \"standard\"",
                    "\"permissions\": \"no-such-profile\"",
                    1,
                ),
                "no-such-profile",
            ),
        ];
        for (number, (text, reason)) in broken.iter().enumerate() {
            world.stops().await;
            std::fs::write(&path, text).unwrap();
            world.starts().await;
            let seen = world.sees("#lab", reason).await;
            assert!(seen.contains("agent.json, line "), "{seen}");
            talks(world, "#lab", &format!("I can do little, {number}.")).await;
            world.restarts().await;
            talks(world, "#lab", &format!("Still little, {number}.")).await;
            assert_eq!(told(world), number + 1, "{}", world.transcript("#lab"));
        }
        world.stops().await;
        std::fs::write(&path, good).unwrap();
        world.starts().await;
        world.sees("#lab", "is valid again").await;
        talks(world, "#lab", "All is well again.").await;
        world.restarts().await;
        talks(world, "#lab", "And stays so.").await;
        let seen = world.transcript("#lab");
        assert_eq!(seen.matches("is valid again").count(), 1, "{seen}");
        assert_eq!(told(world), broken.len(), "{seen}");
    })
    .await;
}
