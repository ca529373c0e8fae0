//! An agent that is limited to local models asks no other, whatever is configured.

use chorus_playground::Rights;
use serde_json::json;

use crate::world::model::{MODEL, Model};
use crate::world::{Setup, Way, World, run_test_with};

/// A world with a provider in the cloud, which the daemon reaches through a proxy, and a local one.
fn with_cloud(cloud: &Model) -> Setup {
    Setup {
        way: Way::Program,
        config: json!({
            "default_permissions": "open",
            "tiers": {"lightweight": "cloud/big", "full": "cloud/big"},
            "providers": {"cloud": {
                "base_url": "http://cloud.example",
                "format": "anthropic",
                "api_key_env": "ANTHROPIC_API_KEY",
                "models": ["big"],
            }},
        }),
        env: vec![
            ("HTTP_PROXY", cloud.base_url().to_owned()),
            ("NO_PROXY", "127.0.0.1,localhost".to_owned()),
        ],
        ..Setup::default()
    }
}

/// What no request of the agent can be sent to.
const NONE_LOCAL: &str = "is limited to local models, and none is configured.";

async fn sets(world: &World, value: &str) -> String {
    let command = format!("/agent config name:lab key:local_only value:{value}");
    world.ann.asks(&command, "#lab").await
}

#[tokio::test]
async fn the_cloud_gets_no_request_of_an_agent_that_is_limited_to_local_models() {
    let cloud = Model::start().await;
    run_test_with(with_cloud(&cloud), async |world| {
        world.edits_agent_json(
            "lab",
            json!({"model": "cloud/big", "fallback_models": [MODEL]}),
        );
        cloud.answers("From the cloud.");
        world.ann.says("#lab", "who are you?").await;
        world.sees("#lab", "From the cloud.").await;
        assert_eq!(cloud.requests().len(), 1);

        let told = sets(world, "true").await;
        assert!(told.contains("Local only"), "{told}");
        world.model.answers("From this house.");
        world.ann.says("#lab", "and now?").await;
        world.sees("#lab", "From this house.").await;
        // A sub-agent, in a role whose tier is in the cloud.
        world.model.calls_tool(
            "sub_agent",
            json!({"role": "explore", "title": "look", "prompt": "look"}),
        );
        world.model.answers("Nobody could look.");
        world.ann.says("#lab", "have it looked at").await;
        world.sees("#lab", "Nobody could look.").await;
        // Another model, this once.
        world
            .ann
            .runs("/ask model:cloud/big prompt:hello", "#lab")
            .await;
        world.sees("#lab", NONE_LOCAL).await;
        // The summary of what is saved.
        world.model.summarises("A summary made here.");
        let saved = world.ann.asks("/context clear", "#lab").await;
        assert!(!saved.is_empty());
        assert_eq!(cloud.requests().len(), 1, "nothing more was sent there");

        world.edits_agent_json("lab", json!({"fallback_models": []}));
        world.ann.says("#lab", "anybody?").await;
        world
            .shows("#lab", |shown| shown.matches(NONE_LOCAL).count() == 2)
            .await;
        assert_eq!(cloud.requests().len(), 1);
    })
    .await;
    cloud.stop();
}

#[tokio::test]
async fn who_manages_channels_can_limit_an_agent_and_not_free_it() {
    run_test_with(Setup::default(), async |world| {
        let rights = Rights::MANAGE_CHANNELS;
        world.bob.person.gets_role("Moderator", rights);
        let limit = "/agent config name:lab key:local_only value:true";
        let told = world.bob.asks(limit, "#lab").await;
        assert!(told.contains("Local only of `lab` is now"), "{told}");
        for value in ["false", "default"] {
            let free = format!("/agent config name:lab key:local_only value:{value}");
            let refused = world.bob.asks(&free, "#lab").await;
            assert!(refused.contains("may grant the profile"), "{refused}");
        }
        assert_eq!(world.agent_json("lab")["local_only"], true);
        let told = sets(world, "false").await;
        assert!(told.contains("is now"), "{told}");
    })
    .await;
}
