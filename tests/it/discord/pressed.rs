//! Buttons that do what one would otherwise have to type: go on with a turn that ended early, try one again, go back to a
//! conversation that silence put away.

use serde_json::json;

use crate::world::{Setup, World, run_test, run_test_with};

fn labels(world: &World, text: &str) -> Vec<String> {
    let all = world.messages("#lab");
    let found = all.iter().rev().find(|one| one.content.contains(text));
    let buttons = found.map(chorus_playground::Message::buttons);
    let buttons = buttons.unwrap_or_default().into_iter();
    buttons.map(|button| button.label).collect()
}

#[tokio::test]
async fn a_turn_that_failed_is_tried_again_by_a_press() {
    run_test(async |world| {
        let body =
            json!({"type": "error", "error": {"type": "invalid_request_error", "message": "no"}});
        world.model.fails_with(400, body);
        world.ann.says("#lab", "what is it?").await;
        world.sees("#lab", "I could not get an answer").await;
        assert_eq!(labels(world, "I could not get an answer"), ["Try again"]);
        world.model.answers("Here it is.");
        world.bob.clicks("#lab", "Try again").await;
        let shown = world.sees("#lab", "Here it is.").await;
        assert!(shown.contains("bob"), "{shown}");
        let asked = world.model.last_request()["messages"].to_string();
        assert!(
            asked.contains("what is it?") && asked.contains("Try again"),
            "{asked}"
        );
        world
            .waits("the button to go", |world| {
                labels(world, "I could not get an answer")
                    .is_empty()
                    .then_some(())
            })
            .await;
    })
    .await;
}

#[tokio::test]
async fn a_turn_that_was_stopped_goes_on_by_a_press() {
    run_test(async |world| {
        let thought = world.model.is_thinking();
        world.ann.says("#lab", "count to a million").await;
        world.model.was_asked(1).await;
        world.ann.runs("/abort", "#lab").await;
        world.sees("#lab", "Stopped at step 1.").await;
        drop(thought);
        world.model.answers("Two, three.");
        world.ann.clicks("#lab", "Continue").await;
        world.sees("#lab", "Two, three.").await;
    })
    .await;
}

#[tokio::test]
async fn after_a_crash_the_turn_goes_on_by_a_press() {
    run_test(async |world| {
        let thought = world.model.is_thinking();
        world.ann.says("#lab", "count to a million").await;
        world.model.was_asked(1).await;
        world.kills().await;
        drop(thought);
        world.starts().await;
        world.sees("#lab", "the turn was interrupted").await;
        world.model.answers("One, two.");
        world.ann.clicks("#lab", "Continue").await;
        world.sees("#lab", "One, two.").await;
    })
    .await;
}

#[tokio::test]
async fn what_silence_put_away_is_restored_by_a_press() {
    let setup = Setup {
        config: json!({"idle_timeout": 1}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.exchange("my colour is blue", "Noted, blue.").await;
        world
            .sees("#lab", "Context cleared after 1 second of inactivity.")
            .await;
        world.ann.clicks("#lab", "Resume").await;
        world.sees("#lab", "Context restored:").await;
    })
    .await;
}

#[tokio::test]
async fn who_may_not_talk_to_the_agent_may_not_press_either() {
    run_test(async |world| {
        let thought = world.model.is_thinking();
        world.ann.says("#lab", "count").await;
        world.model.was_asked(1).await;
        world.ann.runs("/abort", "#lab").await;
        world.sees("#lab", "Stopped at step 1.").await;
        drop(thought);
        let roles = "/agent config name:lab key:access_roles value:1";
        world.ann.asks(roles, "#lab").await;
        world.edits_agent_json("lab", json!({"access_roles": ["1"]}));
        world.bob.clicks("#lab", "Continue").await;
        let refused = world.next_private_reply(&world.bob).await;
        assert!(refused.contains("no access"), "{refused}");
    })
    .await;
}
