//! Agents that know of each other, and the web.

use serde_json::json;

use super::uses;
use crate::world::{World, run_test};

async fn with_other(world: &mut World) {
    world.ann.runs("/agent init name:other", "#general").await;
    world
        .waits("#other", |world| world.discord.channel("other"))
        .await;
    world.sees("#other", "is ready").await;
}

#[tokio::test]
async fn a_message_to_another_agent_is_posted_there_and_answered() {
    run_test(async |world| {
        with_other(world).await;
        assert!(
            uses(world, "list_agents", json!({}))
                .await
                .ok()
                .contains("other")
        );
        world
            .model
            .always_answers("count the stars", "There are seven.");
        let message = json!({"agent": "other", "message": "please count the stars"});
        uses(world, "send_to_agent", message).await.ok();
        let seen = world.sees("#other", "There are seven.").await;
        assert!(
            seen.contains("count the stars") && seen.contains("lab"),
            "{seen}"
        );
    })
    .await;
}

#[tokio::test]
async fn a_new_agent_is_not_described_by_the_template() {
    run_test(async |world| {
        with_other(world).await;
        let listed = uses(world, "list_agents", json!({})).await.ok();
        assert!(
            listed.contains("written nothing about itself")
                && !listed.contains("Everything in this folder"),
            "{listed}"
        );
        let readme = world.home().join("agents/other/docs/README.md");
        std::fs::write(readme, "# Other\n\nI count stars.").unwrap();
        let listed = uses(world, "list_agents", json!({})).await.ok();
        assert!(listed.contains("I count stars."), "{listed}");
    })
    .await;
}

#[tokio::test]
async fn the_notes_of_another_agent_can_be_read() {
    run_test(async |world| {
        with_other(world).await;
        let docs = world.home().join("agents/other/docs");
        std::fs::write(docs.join("stars.md"), "There are seven of them.").unwrap();
        let notes = uses(world, "read_agent_docs", json!({"agent": "other"}))
            .await
            .ok();
        assert!(notes.contains("There are seven of them."), "{notes}");
        let unknown = uses(world, "read_agent_docs", json!({"agent": "othr"}))
            .await
            .refused();
        assert!(unknown.contains("other"), "{unknown}");
    })
    .await;
}

#[tokio::test]
async fn this_machine_is_no_public_web() {
    run_test(async |world| {
        let own = world.discord.base_url().to_owned();
        for url in [
            own.as_str(),
            "http://169.254.169.254/latest",
            "file:///etc/passwd",
            "http://localhost:8080",
        ] {
            uses(world, "web_fetch", json!({"url": url}))
                .await
                .refused();
        }
    })
    .await;
}
