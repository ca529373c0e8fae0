//! Values that widen what an agent, or people, may do are asked about with their risk first.

use serde_json::Value;

use crate::world::{World, run_test};

/// The last message that only Ann sees.
fn private(world: &World) -> String {
    let all = world.discord.private_messages(world.ann.id());
    all.last()
        .map_or_else(String::new, |last| last.content.clone())
}

#[tokio::test]
async fn a_value_that_widens_is_set_after_a_confirmation() {
    run_test(async |world| {
        for (key, value, risk) in [
            ("sandbox", "off", "without a sandbox"),
            ("permissions", "open", "without asking"),
        ] {
            let before = world.agent_json("lab")[key].clone();
            let command = format!("/agent config name:lab key:{key} value:{value}");
            let asked = world.ann.asks(&command, "#lab").await;
            assert!(asked.contains(risk), "{asked}");
            assert_eq!(world.agent_json("lab")[key], before);
            world.ann.clicks("#lab", "Cancel").await;
            world
                .waits("that nothing was done", |world| {
                    private(world).contains("Nothing was done").then_some(())
                })
                .await;
            assert_eq!(world.agent_json("lab")[key], before);
            world.ann.asks(&command, "#lab").await;
            world.confirms().await;
            assert_eq!(world.agent_json("lab")[key], value);
            assert!(
                private(world).contains("of `lab` is now"),
                "{}",
                private(world)
            );
            // It is so already: nothing is widened.
            let again = world.ann.asks(&command, "#lab").await;
            assert!(again.contains("is now"), "{again}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_value_that_narrows_is_set_at_once_and_told_in_words() {
    run_test(async |world| {
        for (key, value, told) in [
            ("sandbox", "required", "Sandbox of `lab` is now `required`."),
            ("network", "false", "Network of `lab` is now off."),
            (
                "idle_timeout",
                "90",
                "Idle timeout of `lab` is now 1 min 30 s.",
            ),
            ("advisors", "none", "Advisors of `lab` is now nothing."),
        ] {
            let command = format!("/agent config name:lab key:{key} value:{value}");
            let answer = world.ann.asks(&command, "#lab").await;
            assert!(answer.contains(told), "{answer}");
        }
        let asked = world
            .ann
            .asks("/agent config name:lab key:network value:true", "#lab")
            .await;
        assert!(asked.contains("reach the network"), "{asked}");
        world.confirms().await;
        assert_eq!(world.agent_json("lab")["network"], Value::Bool(true));
    })
    .await;
}

#[tokio::test]
async fn a_server_whose_new_agents_ask_nobody_is_confirmed_too() {
    run_test(async |world| {
        let asked = world
            .ann
            .asks("/settings permissions permission_profile:open", "#lab")
            .await;
        assert!(asked.contains("without asking"), "{asked}");
        let rows = "SELECT value FROM settings WHERE key = 'default_permissions'";
        assert_eq!(world.ledger(rows).await, Vec::<String>::new());
        world.confirms().await;
        assert_eq!(world.ledger(rows).await, ["\"open\""]);
    })
    .await;
}
