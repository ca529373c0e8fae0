//! A stop in order and the start after it: conversations go on, and nothing is saved twice.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::seen::{asks, exchange, files};
use crate::world::{Setup, Way, World, run_test, run_test_with};

fn trigger(file: &PathBuf) -> String {
    let session: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    session["trigger"].as_str().unwrap().to_owned()
}

fn triggers(world: &World) -> Vec<String> {
    let mut all: Vec<String> = files(world).iter().map(trigger).collect();
    all.sort();
    all
}

/// Whether the next request to the model holds this text.
async fn knows(world: &mut World, text: &str) -> bool {
    exchange(world, "what do you know?", "That is what I know.").await;
    world.model.last_request().to_string().contains(text)
}

#[tokio::test]
async fn a_conversation_goes_on_after_it() {
    run_test(async |world| {
        exchange(world, "my colour is blue", "Noted, blue.").await;
        world.restarts().await;
        assert!(knows(world, "my colour is blue").await);
        assert_eq!(triggers(world), ["shutdown"]);
    })
    .await;
}

#[tokio::test]
async fn what_has_not_changed_is_saved_once_over_several_restarts_and_not_listed() {
    run_test(async |world| {
        exchange(world, "my colour is blue", "Noted, blue.").await;
        for _ in 0..3 {
            world.restarts().await;
        }
        assert_eq!(triggers(world), ["shutdown"]);
        let history = asks(world, "/context history").await;
        assert!(history.contains("There are no saved sessions"), "{history}");

        exchange(world, "now it is red", "Noted, red.").await;
        let history = asks(world, "/context history").await;
        assert!(history.contains("(2 messages, shutdown)"), "{history}");
        world.restarts().await;
        assert_eq!(triggers(world), ["shutdown", "shutdown"]);
        let history = asks(world, "/context history").await;
        assert!(
            history.contains("(2 messages, shutdown)") && !history.contains("(4 messages"),
            "{history}"
        );
        asks(world, "/context clear").await;
        let history = asks(world, "/context history").await;
        assert!(history.contains("(4 messages, shutdown)"), "{history}");
    })
    .await;
}

#[tokio::test]
async fn what_a_person_saved_before_is_not_saved_again() {
    run_test(async |world| {
        exchange(world, "my colour is blue", "Noted, blue.").await;
        asks(world, "/context save description:colours").await;
        world.restarts().await;
        assert_eq!(triggers(world), ["manual_save"]);
        assert!(knows(world, "my colour is blue").await);
    })
    .await;
}

#[tokio::test]
async fn branches_and_threads_go_on_too() {
    run_test(async |world| {
        world.model.answers("Herons noted.");
        world
            .ann
            .runs("/branch new prompt:remember herons", "#lab")
            .await;
        let shown = world.sees("#lab", "Herons noted.").await;
        assert!(shown.contains("branch"));
        let lab = world.channel("#lab");
        world.ann.person.opens_thread(lab, None, "aside");
        world.model.answers("Reeds noted.");
        world.ann.says("#aside", "remember reeds").await;
        world.sees("#aside", "Reeds noted.").await;
        world.restarts().await;

        let answer = world
            .messages("#lab")
            .into_iter()
            .find(|one| one.content == "Herons noted.");
        world.model.answers("Herons, as you said.");
        world
            .ann
            .replies("#lab", answer.unwrap().id, "which birds?")
            .await;
        world.sees("#lab", "Herons, as you said.").await;
        let asked = world.model.last_request().to_string();
        assert!(asked.contains("remember herons"), "{asked}");
        world.model.answers("Reeds, as you said.");
        world.ann.says("#aside", "which plants?").await;
        world.sees("#aside", "Reeds, as you said.").await;
        let asked = world.model.last_request().to_string();
        assert!(asked.contains("remember reeds"), "{asked}");
    })
    .await;
}

#[tokio::test]
async fn a_compacted_conversation_goes_on_compacted() {
    run_test(async |world| {
        for round in 0..6 {
            exchange(
                world,
                &format!("round {round} {}", "word ".repeat(400)),
                "Noted.",
            )
            .await;
        }
        let compacted = asks(world, "/context compact").await;
        assert!(compacted.contains("Compacted"), "{compacted}");
        world.restarts().await;
        assert!(knows(world, "Summary of the conversation so far").await);
        assert_eq!(triggers(world), ["compaction"]);
        world.restarts().await;
        assert_eq!(triggers(world), ["compaction", "shutdown"]);
    })
    .await;
}

#[tokio::test]
async fn a_turn_that_it_cuts_says_what_is_true() {
    run_test_with(Setup::default().by_hand(), async |world| {
        exchange(world, "my colour is blue", "Noted, blue.").await;
        let _thought = world.model.is_thinking();
        world.ann.says("#lab", "paint the shed").await;
        world.model.was_asked(2).await;
        world.stops().await;
        let shown = world.sees("#lab", "Interrupted at step 1").await;
        assert!(
            shown.contains("After the restart you can have it go on."),
            "{shown}"
        );
        world.starts().await;
        world.sees("#lab", "The conversation is kept").await;
        assert!(knows(world, "paint the shed").await);
        let request = world.model.last_request().to_string();
        assert!(request.contains("my colour is blue"), "{request}");
        assert!(
            request.contains("the turn above was interrupted"),
            "{request}"
        );
    })
    .await;
}

#[tokio::test]
async fn killed_while_it_stops_it_loses_nothing_and_saves_nothing_twice() {
    let setup = Setup {
        way: Way::Program,
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        exchange(world, "my colour is blue", "Noted, blue.").await;
        let summary = world.model.thinks_about_summaries();
        let asked = world.model.requests().len();
        world.signals(rustix::process::Signal::TERM).await;
        world.model.was_asked(asked + 1).await;
        world.kills().await;
        drop(summary);
        world.starts().await;
        assert!(knows(world, "my colour is blue").await);
        world
            .waits_for_reply("/context history", "crash_recovery")
            .await;
        assert_eq!(triggers(world), ["crash_recovery"]);
    })
    .await;
}

/// As if it had been killed after the file of its context was written, and before the row of that file.
#[tokio::test]
async fn killed_between_a_file_and_its_row_it_knows_the_file_for_what_it_is() {
    run_test(async |world| {
        exchange(world, "my colour is blue", "Noted, blue.").await;
        world.stops().await;
        let changes = "UPDATE conversations SET saved_items = 0, saved_as = NULL, crash_session = (SELECT id FROM sessions);
            DELETE FROM sessions";
        world.changes_ledger(changes).await;
        world.starts().await;
        assert!(knows(world, "my colour is blue").await);
        world.waits_for_reply("/context history", "shutdown").await;
        assert_eq!(triggers(world), ["shutdown"]);
        world.restarts().await;
        assert_eq!(triggers(world), ["shutdown", "shutdown"]);
    })
    .await;
}

/// As the program before this one left it: the context saved, its conversation closed.
#[tokio::test]
async fn a_home_that_was_stopped_by_an_older_program_begins_afresh() {
    run_test(async |world| {
        exchange(world, "my colour is blue", "Noted, blue.").await;
        world.stops().await;
        let closed = "UPDATE conversations SET closed_at = last_active_at, saved_as = NULL";
        world.changes_ledger(closed).await;
        world.starts().await;
        let history = asks(world, "/context history").await;
        assert!(history.contains("(2 messages, shutdown)"), "{history}");
        assert!(!knows(world, "my colour is blue").await);
    })
    .await;
}

#[tokio::test]
async fn tasks_that_ended_with_it_are_named_in_one_line() {
    let setup = Setup {
        config: json!({"default_permissions": "open"}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        for command in ["sleep 601", "sleep 602"] {
            world
                .model
                .calls_tool("run_background", json!({"command": command}));
        }
        exchange(world, "start them", "Both run.").await;
        world.restarts().await;
        let shown = world.sees("#lab", "2 tasks ended with the stop").await;
        let line = shown
            .lines()
            .find(|line| line.contains("ended with the stop"))
            .unwrap();
        assert!(
            line.contains("sleep 601") && line.contains("sleep 602"),
            "{line}"
        );
        world.restarts().await;
        let shown = world.transcript("#lab");
        assert_eq!(shown.matches("ended with the stop").count(), 1, "{shown}");
    })
    .await;
}
