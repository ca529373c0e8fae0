//! Buttons that do what one would otherwise have to type: go on with a turn that ended early, try one again, go back to a
//! conversation that silence put away.

use chorus::domain::MessageId;
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
        assert_eq!(
            labels(world, "I could not get an answer"),
            ["Try again", "Use another model"]
        );
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
        is_aborted(world).await;
        world.ann.clicks("#lab", "Continue").await;
        world.sees("#lab", "Two, three.").await;
    })
    .await;
}

#[tokio::test]
async fn after_a_crash_the_turn_goes_on_by_a_press() {
    run_test_with(Setup::default().by_hand(), async |world| {
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

/// Has two people press the newest button with this label at once.
fn both_press(world: &World, label: &str) -> u64 {
    let lab = world.channel("#lab");
    let all = world.messages("#lab").into_iter().rev();
    let mut shown = all.filter(|one| one.buttons().iter().any(|button| button.label == label));
    let message = shown.next().unwrap_or_else(|| panic!("no button {label}"));
    world.discord.holds_events();
    for who in [&world.ann, &world.bob] {
        who.person.clicks(lab, message.id, label).unwrap();
    }
    world.discord.releases_events();
    message.id.0
}

/// How often something stands in the channel.
fn times(world: &World, text: &str) -> usize {
    world.transcript("#lab").matches(text).count()
}

/// Of two who press at once one is served and the other one told; so is whoever's Discord still shows the button.
async fn serves_one(world: &mut World, label: &str, outcome: &str) {
    let before = times(world, outcome);
    let message = MessageId(both_press(world, label));
    world
        .waits("one to be told that the button was used", |world| {
            let told = [&world.ann, &world.bob].into_iter().filter(|who| {
                let private = world.discord.private_messages(who.id());
                private
                    .iter()
                    .any(|one| one.content.contains("already used this button"))
            });
            (told.count() == 1 && times(world, outcome) > before).then_some(())
        })
        .await;
    let lab = world.channel("#lab");
    world
        .waits("the button to go", |world| {
            let shown = world.discord.message(lab, message)?;
            shown.buttons().is_empty().then_some(())
        })
        .await;
    assert_eq!(times(world, outcome), before + 1, "{label}");
}

#[tokio::test]
async fn undo_is_pressed_once() {
    run_test(async |world| {
        world.exchange("my colour is blue", "Noted, blue.").await;
        world.ann.asks("/context clear", "#lab").await;
        serves_one(world, "Undo", "Context restored:").await;
    })
    .await;
}

#[tokio::test]
async fn resume_is_pressed_once() {
    let setup = Setup {
        config: json!({"idle_timeout": 1}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.exchange("my colour is blue", "Noted, blue.").await;
        world.sees("#lab", "of inactivity.").await;
        world.edits_agent_json("lab", json!({"idle_timeout": 0}));
        serves_one(world, "Resume", "Context restored:").await;
    })
    .await;
}

#[tokio::test]
async fn continue_is_pressed_once() {
    run_test(async |world| {
        is_aborted(world).await;
        serves_one(world, "Continue", "Continue where you stopped.").await;
        world.sees("#lab", "Two, three.").await;
    })
    .await;
}

#[tokio::test]
async fn a_confirmation_is_given_once() {
    run_test(async |world| {
        world.exchange("my colour is blue", "Noted, blue.").await;
        let lab = world.channel("#lab");
        let asked = world
            .ann
            .runs("/context clear save_first:false", "#lab")
            .await;
        let question = world
            .waits("the question", |world| {
                world.discord.replies_to(asked).into_iter().next()
            })
            .await;
        world.discord.holds_events();
        for label in ["Confirm", "Confirm", "Cancel"] {
            world.ann.person.clicks(lab, question.id, label).unwrap();
        }
        world.discord.releases_events();
        let is_cancelled = |world: &World| {
            let private = world.discord.private_messages(world.ann.id());
            private.iter().any(|one| one.content.contains("Cancelled."))
        };
        world
            .waits("one outcome, and two to be told", |world| {
                let private = world.discord.private_messages(world.ann.id());
                let told = private.iter().filter(|one| one.content.contains("used"));
                let is_over = is_cancelled(world) || times(world, "Context cleared:") > 0;
                (told.count() == 2 && is_over).then_some(())
            })
            .await;
        let cleared = usize::from(!is_cancelled(world));
        assert_eq!(times(world, "Context cleared:"), cleared);
    })
    .await;
}

#[tokio::test]
async fn a_command_that_the_gateway_repeats_is_done_once() {
    run_test(async |world| {
        world.exchange("my colour is blue", "Noted, blue.").await;
        world.ann.knows_commands().await;
        world.discord.holds_events();
        world.ann.runs("/context save", "#lab").await;
        world.discord.releases_events();
        world.discord.repeats_events(4);
        world.sees("#lab", "Session saved:").await;
        // Saving takes one request for its summary; a second save would have made another one before this answer.
        world.ann.asks("/context history", "#lab").await;
        world
            .ledger_says("SELECT CAST(count(*) AS TEXT) FROM sessions", &["1"])
            .await;
        assert_eq!(times(world, "Session saved:"), 1);
    })
    .await;
}

/// A turn is aborted at its first step; the model would say `Two, three.` next.
async fn is_aborted(world: &mut World) {
    let thought = world.model.is_thinking();
    world.ann.says("#lab", "count to a million").await;
    world.model.was_asked(1).await;
    world.ann.runs("/abort", "#lab").await;
    world.sees("#lab", "Stopped at step 1.").await;
    drop(thought);
    world.model.answers("Two, three.");
}
