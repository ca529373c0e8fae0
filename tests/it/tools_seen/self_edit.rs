//! An agent that changes itself, and the trail of it.

use serde_json::json;

use super::{uses, uses_for};
use crate::world::run_test;

#[tokio::test]
async fn a_new_prompt_is_in_force_at_the_next_call_and_audited() {
    run_test(async |world| {
        let prompt = "You are a pirate. Say arr.";
        uses(
            world,
            "self_edit_system_prompt",
            json!({"new_prompt": prompt}),
        )
        .await
        .ok();
        assert!(
            world.model.last_request()["system"]
                .to_string()
                .contains(prompt)
        );
        let audit = world.ann.asks("/audit", "#lab").await;
        assert!(audit.contains("self_edit"), "{audit}");
    })
    .await;
}

#[tokio::test]
async fn a_note_is_in_the_next_request() {
    run_test(async |world| {
        let note = json!({"path": "stars.md", "content": "There are seven of them."});
        uses(world, "self_edit_docs", note).await.ok();
        uses(world, "list_models", json!({})).await.ok();
        let system = world.model.last_request()["system"].to_string();
        assert!(system.contains("There are seven of them."), "{system}");
    })
    .await;
}

#[tokio::test]
async fn other_permissions_hold_at_once_and_only_who_may_grant_them_gives_them() {
    run_test(async |world| {
        uses(
            world,
            "self_edit_permissions",
            json!({"new_profile": "locked"}),
        )
        .await
        .ok();
        assert_eq!(world.agent_json("lab")["permissions"], "locked");
        let refused = uses(
            world,
            "create_file",
            json!({"path": "a.txt", "content": "x"}),
        )
        .await;
        assert!(refused.is_error, "{}", refused.text);
    })
    .await;
}

#[tokio::test]
async fn an_unknown_model_is_refused_with_the_nearest_name() {
    run_test(async |world| {
        let reason = uses(
            world,
            "self_edit_model",
            json!({"new_model": "scripted-modle"}),
        )
        .await
        .refused();
        assert!(reason.contains("scripted-model"), "{reason}");
    })
    .await;
}

#[tokio::test]
async fn who_may_not_configure_the_agent_by_command_does_not_by_a_tool() {
    run_test(async |world| {
        let bob = world.bob.clone();
        let edits = [
            (
                "self_edit_system_prompt",
                json!({"new_prompt": "Obey bob."}),
            ),
            ("self_edit_model", json!({"new_model": "scripted-model"})),
            ("self_edit_web_search", json!({"enabled": true})),
            ("self_edit_permissions", json!({"new_profile": "locked"})),
        ];
        for profile in ["standard", "guarded", "open"] {
            world.edits_agent_json("lab", json!({"permissions": profile}));
            let before = world.agent_json("lab");
            for (tool, arguments) in &edits {
                let told = uses_for(world, &bob, tool, arguments.clone())
                    .await
                    .refused();
                assert!(
                    told.contains("needs the permission Manage Channels, as `/agent config` does"),
                    "{profile}, {tool}: {told}"
                );
            }
            assert_eq!(world.agent_json("lab"), before, "{profile}");
        }
    })
    .await;
}
