//! Interrupted turns that do not go on, and the one line that says why.

use serde_json::json;

use super::asked;
use crate::world::{Setup, World, run_test, run_test_with};

/// A turn that was interrupted in its first request, in a home whose daemon is stopped.
async fn is_interrupted(world: &mut World) {
    let thought = world.model.is_thinking();
    world.ann.says("#lab", "think").await;
    world.model.was_asked(1).await;
    world.kills().await;
    drop(thought);
}

async fn does_not_go_on(world: &mut World, why: &str) {
    world.starts().await;
    let line = format!("does not go on: {why}");
    let shown = world.sees("#lab", &line).await;
    assert_eq!(shown.matches("does not go on").count(), 1, "{shown}");
    assert!(shown.contains("[Continue]"), "{shown}");
    assert_eq!(asked(world).len(), 1);
    world
        .ledger_says("SELECT state FROM resumes", &["refused"])
        .await;
}

#[tokio::test]
async fn where_the_profile_is_another() {
    run_test(async |world| {
        is_interrupted(world).await;
        world.edits_agent_json("lab", json!({"permissions": "locked"}));
        does_not_go_on(world, "the agent's permissions changed").await;
    })
    .await;
}

#[tokio::test]
async fn where_the_model_is_another() {
    run_test(async |world| {
        is_interrupted(world).await;
        world.edits_agent_json("lab", json!({"model": "claude-other-1"}));
        does_not_go_on(world, "the agent's model changed").await;
    })
    .await;
}

#[tokio::test]
async fn where_the_charter_has_errors() {
    run_test(async |world| {
        is_interrupted(world).await;
        let charter = world.home().join("agents/lab/charter.md");
        std::fs::write(charter, "---\nname: lab\nmax_steps: many\n---\nWork.\n").unwrap();
        does_not_go_on(world, "the agent's charter has errors").await;
    })
    .await;
}

#[tokio::test]
async fn where_the_budget_is_used_up() {
    run_test(async |world| {
        is_interrupted(world).await;
        let spends = "INSERT INTO attempts (at, guild_id, agent_id, kind, provider, model, outcome, input, output, cache_read,
                cache_write, cost_usd, millis)
            SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), guild_id, id, 'model', 'anthropic', 'm', 'ok', 1, 1, 0, 0, 1000.0, 1 FROM agents";
        world.changes_ledger(spends).await;
        does_not_go_on(world, "the budget of today is used up").await;
    })
    .await;
}

#[tokio::test]
async fn where_its_steps_are_used_up() {
    let setup = Setup {
        config: json!({"max_tool_loop_iterations": 1}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.model.calls_tool("glob", json!({"pattern": "*"}));
        let thought = world.model.is_thinking();
        world.ann.says("#lab", "look").await;
        world.model.was_asked(2).await;
        world.kills().await;
        drop(thought);
        world.starts().await;
        world
            .sees("#lab", "does not go on: its steps are used up")
            .await;
        assert_eq!(asked(world).len(), 1);
    })
    .await;
}

#[tokio::test]
async fn where_it_is_too_long_ago_a_person_can_continue_it() {
    run_test(async |world| {
        is_interrupted(world).await;
        let ages = "UPDATE turns SET began_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-2 hours')";
        world.changes_ledger(ages).await;
        world.starts().await;
        let shown = world
            .sees("#lab", "I was restarted in the middle of this")
            .await;
        assert!(shown.contains("[Continue]"), "{shown}");
        assert_eq!(asked(world).len(), 1);
        world.model.answers("Thought about it.");
        world.ann.clicks("#lab", "Continue").await;
        world.sees("#lab", "Thought about it.").await;
    })
    .await;
}

#[tokio::test]
async fn where_the_operator_wants_none_to() {
    let setup = Setup {
        config: json!({"resume": {"max_age": 0}}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        is_interrupted(world).await;
        world.starts().await;
        world
            .sees("#lab", "I was restarted in the middle of this")
            .await;
        assert_eq!(asked(world).len(), 1);
    })
    .await;
}

/// What was answered about a stop holds, also where the daemon dies before the turn has ended.
#[tokio::test]
async fn where_somebody_had_stopped_it() {
    run_test(async |world| {
        let thought = world.model.is_thinking();
        // Its last words, if it gets to ask for them.
        let last = world.model.is_thinking();
        world.ann.says("#lab", "think").await;
        world.model.was_asked(1).await;
        world.ann.asks("/stop", "#lab").await;
        world.kills().await;
        drop((thought, last));
        world.starts().await;
        let shown = world
            .sees("#lab", "had been stopped before I was restarted")
            .await;
        assert!(shown.contains("[Continue]"), "{shown}");
        assert!(!shown.contains("go on with this"), "{shown}");
        assert_eq!(asked(world).len(), 1);
        world
            .ledger_says("SELECT state FROM resumes", &["left"])
            .await;
    })
    .await;
}

#[tokio::test]
async fn where_the_person_who_asked_left() {
    run_test(async |world| {
        let thought = world.model.is_thinking();
        world.bob.says("#lab", "think").await;
        world.model.was_asked(1).await;
        world.kills().await;
        drop(thought);
        world.bob.person.leaves();
        does_not_go_on(world, "bob may no longer talk to this agent").await;
    })
    .await;
}

#[tokio::test]
async fn where_its_channel_is_gone() {
    run_test(async |world| {
        is_interrupted(world).await;
        let lab = world.channel("#lab");
        world.ann.person.deletes_channel(lab);
        world.starts().await;
        world
            .ledger_says(
                "SELECT state FROM resumes WHERE state NOT IN ('waiting', 'resumed')",
                &["refused"],
            )
            .await;
        assert_eq!(asked(world).len(), 1);
    })
    .await;
}
