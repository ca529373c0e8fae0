//! Secrets in the words of a model that has others work for it: people see none, however the words are cut and escaped.

use serde_json::json;

use super::{assignment, run_test};
use crate::world::World;
use crate::world::model::KEY;

/// What people see in all channels, without the marks that Discord does not show.
fn shown(world: &World) -> String {
    let requests = world.discord.requests();
    let bodies = requests.iter().map(|request| request.body.to_string());
    bodies.collect::<Vec<_>>().join("\n").replace('\\', "")
}

#[tokio::test]
async fn lists_of_branches_and_titles_of_stages_hide_them() {
    run_test(async |world| {
        world.edits_agent_json("lab", json!({"child_threads": true}));
        let (tool, mut task) = assignment("explore", "Deploy.");
        task["title"] = json!(format!("use {KEY} now"));
        world.model.calls(&[(tool, task)]);
        world.model.answers("In.").answers("Deployed.");
        world.ann.says("#lab", "deploy it").await;
        world.sees("#lab", "Deployed.").await;
        let thread = world
            .ledger("SELECT role || ' · ' || title FROM turns WHERE kind = 'sub_agent'")
            .await
            .remove(0);
        world.sees(&thread, "In.").await;
        world.model.answers("There.");
        world.ann.says(&thread, "where?").await;
        world.sees(&thread, "There.").await;
        let list = world.ann.asks("/branch list", "#lab").await;
        assert!(
            list.contains("#1") && list.contains("use ") && !list.contains("sk-"),
            "{list}"
        );

        world.edits_agent_json("lab", json!({"advisors": ["explore"]}));
        let thought = world.model.is_thinking();
        world
            .ann
            .says("#lab", &format!("log in with {KEY} please"))
            .await;
        world.sees("#lab", "explore “log in with ").await;
        world.model.answers("Logged in.");
        drop(thought);
        world.sees("#lab", "Logged in.").await;
        let shown = shown(world);
        assert!(!shown.contains(KEY) && !shown.contains("sk-"), "{shown}");
        let kept = "SELECT count(*) || '' FROM turns WHERE title LIKE '%sk-%'";
        assert_eq!(world.ledger(kept).await, ["0"]);
    })
    .await;
}

#[tokio::test]
async fn titles_and_words_beside_calls_hide_them() {
    run_test(async |world| {
        world.edits_agent_json("lab", json!({"child_threads": true, "permissions": "open"}));
        let (tool, mut task) = assignment("general", "Deploy.");
        task["title"] = json!(format!("use {KEY} now"));
        world.model.calls(&[(tool, task)]);
        let waits = json!({"command": "until [ -e go ]; do sleep 0.01; done"});
        let said = format!("I log in with {KEY} first.");
        let call = world.model.streams_and_calls(&said, "bash", waits);
        call.ends();
        world.model.answers("In.").answers("Deployed.");
        world.ann.says("#lab", "deploy it").await;
        world.sees("#lab", "I log in with").await;
        std::fs::write(world.workspace("lab").join("go"), "").unwrap();
        world.sees("#lab", "Deployed.").await;
        let seen = shown(world);
        assert!(seen.contains("I log in with"), "{seen}");
        assert!(!seen.contains(KEY), "{seen}");
        assert!(seen.contains("“use ") && !seen.contains("sk-"), "{seen}");
    })
    .await;
}
