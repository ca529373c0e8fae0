//! While one conversation is summed up, for a save, a compaction or its end, the others go on.

use std::time::Duration;

use chorus::domain::MessageId;
use serde_json::json;

use super::seen::{asks, exchange};
use crate::poll;
use crate::world::model::{MODEL, Thought};
use crate::world::{Setup, World, is_under_way, run_test, run_test_with};

/// How the questions for a summary have ended: none while the model still thinks about it.
async fn summaries(world: &World) -> Vec<String> {
    world
        .ledger("SELECT outcome FROM attempts WHERE kind IN ('summary', 'compaction')")
        .await
}

/// Opens a thread below `#lab`.
fn opens_thread(world: &World, name: &str) {
    let lab = world.channel("#lab");
    world.ann.person.opens_thread(lab, None, name);
}

/// Runs a command that asks for a summary, and waits until the model thinks about it.
async fn thinks_about(world: &World, command: &str, channel: &str) -> (u64, Thought) {
    let asked = world.model.requests().len();
    let thought = world.model.thinks_about_summaries();
    let run = world.ann.runs(command, channel).await;
    world.model.was_asked(asked + 1).await;
    (run, thought)
}

/// Waits until a command's answer holds `text`.
async fn answers(world: &World, run: u64, text: &str) {
    world
        .waits(&format!("the answer “{text}”"), |world| {
            let replies = world.discord.replies_to(run);
            let shown = world.discord.shown(replies.first()?);
            shown.contains(text).then_some(())
        })
        .await;
}

/// Waits until a message is in the ledger.
async fn is_stored(world: &World, message: MessageId) {
    let stored = async {
        loop {
            let all = world.ledger("SELECT cast(message_id AS TEXT) FROM inbound");
            if all.await.contains(&message.to_string()) {
                return;
            }
            poll::pause().await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(60), stored).await;
    waited.unwrap_or_else(|_| panic!("{message} was not stored\n{}", world.report()));
}

#[tokio::test]
async fn a_save_holds_up_no_other_conversation() {
    run_test(async |world| {
        exchange(world, "my colour is blue", "Noted, blue.").await;
        opens_thread(world, "aside");
        let aside = world.model.thinks_then("Reeds noted.");
        let asked = world.model.requests().len();
        world.ann.says("#aside", "remember reeds").await;
        world.model.was_asked(asked + 1).await;
        let (save, summary) = thinks_about(world, "/context save", "#lab").await;

        let status = asks(world, "/status").await;
        assert!(status.contains("Branches at work: 1"), "{status}");
        aside.ends();
        world.sees("#aside", "Reeds noted.").await;
        world
            .waits("the end of the turn in #aside", |world| {
                let messages = world.messages("#aside");
                messages.iter().all(|one| !is_under_way(one)).then_some(())
            })
            .await;
        opens_thread(world, "other");
        world.model.answers("Herons noted.");
        world.ann.says("#other", "remember herons").await;
        world.sees("#other", "Herons noted.").await;
        assert_eq!(
            summaries(world).await,
            [""; 0],
            "the save was not under way"
        );
        let status = asks(world, "/status").await;
        assert!(!status.contains("Branches at work: 2"), "{status}");
        world.model.answers("Ducks too.");
        world.ann.says("#aside", "and ducks?").await;
        world.sees("#aside", "Ducks too.").await;
        assert_eq!(
            summaries(world).await,
            [""; 0],
            "the save was not under way"
        );

        summary.ends();
        answers(world, save, "Session saved").await;
        assert_eq!(summaries(world).await, ["ok"]);
    })
    .await;
}

#[tokio::test]
async fn what_is_written_to_a_conversation_that_is_being_cleared_begins_the_new_one() {
    run_test(async |world| {
        exchange(world, "my colour is blue", "Noted, blue.").await;
        let clear = "/context clear save_first:true";
        let (clear, summary) = thinks_about(world, clear, "#lab").await;
        world.model.answers("Nothing yet.");
        let waiting = world.bob.says("#lab", "what do you know?").await;
        is_stored(world, waiting).await;
        let status = asks(world, "/status").await;
        assert!(status.contains("Agent: lab"), "{status}");
        assert!(!world.transcript("#lab").contains("Nothing yet."));

        summary.ends();
        answers(world, clear, "cleared").await;
        world.sees("#lab", "Nothing yet.").await;
        let request = world.model.last_request().to_string();
        assert!(!request.contains("my colour is blue"), "{request}");
    })
    .await;
}

#[tokio::test]
async fn a_command_waits_for_the_save_of_its_conversation() {
    run_test(async |world| {
        exchange(world, "my colour is blue", "Noted, blue.").await;
        let (save, summary) = thinks_about(world, "/context save", "#lab").await;
        let clear = world.ann.runs("/context clear", "#lab").await;
        asks(world, "/status").await;

        summary.ends();
        answers(world, save, "Session saved").await;
        answers(world, clear, "Context cleared: 2 messages.").await;
        world.model.answers("Nothing yet.");
        world.bob.says("#lab", "what do you know?").await;
        world.sees("#lab", "Nothing yet.").await;
        let request = world.model.last_request().to_string();
        assert!(!request.contains("my colour is blue"), "{request}");
    })
    .await;
}

#[tokio::test]
async fn a_stop_holds_for_messages_that_wait_for_a_save() {
    run_test(async |world| {
        exchange(world, "my colour is blue", "Noted, blue.").await;
        let (save, summary) = thinks_about(world, "/context save", "#lab").await;
        let _thought = world.model.is_thinking();
        let waiting = world.bob.says("#lab", "count to a million").await;
        is_stored(world, waiting).await;
        let aborted = asks(world, "/abort").await;
        assert!(aborted.contains("Stopped the summary"), "{aborted}");

        answers(world, save, "Session saved").await;
        summary.ends();
        world.sees("#lab", "Nothing more will run").await;
    })
    .await;
}

#[tokio::test]
async fn a_stop_ends_the_summary_and_not_the_save() {
    run_test(async |world| {
        for (command, stop, done) in [
            ("/context save", "/abort", "Session saved"),
            ("/context save clear:true", "/stop", "Session saved"),
            ("/context clear save_first:true", "/abort", "cleared"),
        ] {
            exchange(world, "my colour is blue", "Noted, blue.").await;
            let (run, _thought) = thinks_about(world, command, "#lab").await;
            let told = asks(world, stop).await;
            assert!(
                told.contains("Stopped the summary: the conversation is saved without one."),
                "{command}: {told}"
            );
            answers(world, run, done).await;
        }
        assert_eq!(summaries(world).await, ["stopped"; 3]);
        let saved = world.ledger("SELECT summary FROM sessions").await;
        assert_eq!(saved, ["(summary generation failed)"; 3]);
        let nothing = asks(world, "/abort").await;
        assert!(nothing.contains("Nothing is running here."), "{nothing}");
    })
    .await;
}

/// An agent whose silence lasts a second.
fn soon_silent() -> Setup {
    Setup {
        config: json!({"idle_timeout": 1}),
        ..Setup::default()
    }
}

#[tokio::test]
async fn a_stop_ends_the_save_after_a_silence_until_the_next_one() {
    for stop in ["/abort", "/stop"] {
        run_test_with(soon_silent(), async |world| {
            let summary = world.model.thinks_about_summaries();
            exchange(world, "my colour is blue", "Noted, blue.").await;
            world.model.was_asked(2).await;
            let told = asks(world, stop).await;
            assert!(
                told.contains("Cancelled the automatic save: the conversation stays as it was."),
                "{stop}: {told}"
            );
            world.model.was_asked(3).await;
            assert_eq!(summaries(world).await, ["stopped"], "{stop}");
            assert!(!world.transcript("#lab").contains("Context cleared"));

            summary.ends();
            world.sees("#lab", "Context cleared after 1 second").await;
            let saved = world.ledger("SELECT summary FROM sessions").await;
            assert_eq!(saved.len(), 1, "{stop}: {saved:?}");
            assert_ne!(saved, ["(summary generation failed)"], "{stop}");
            let nothing = asks(world, stop).await;
            assert!(nothing.contains("Nothing is running here."), "{nothing}");
        })
        .await;
    }
}

#[tokio::test]
async fn a_stop_ends_the_save_after_a_silence_where_it_was_asked_for() {
    run_test_with(soon_silent(), async |world| {
        let summary = world.model.thinks_about_summaries();
        let turn = world.model.thinks_then("Noted, blue.");
        world.ann.says("#lab", "my colour is blue").await;
        world.model.was_asked(1).await;
        opens_thread(world, "aside");
        world.model.answers("Reeds noted.");
        world.ann.says("#aside", "remember reeds").await;
        world.sees("#aside", "Reeds noted.").await;
        turn.ends();
        world.model.was_asked(4).await;
        let told = world.ann.asks("/abort", "#aside").await;
        assert!(told.contains("Cancelled the automatic save"), "{told}");

        summary.ends();
        world.sees("#lab", "Context cleared after 1 second").await;
        world.sees("#aside", "Context cleared after 1 second").await;
        let mut ended = summaries(world).await;
        ended.sort();
        assert_eq!(ended, ["ok", "ok", "stopped"]);
        let saved = world.ledger("SELECT trigger FROM sessions").await;
        assert_eq!(saved, ["idle_timeout"; 2]);
    })
    .await;
}

#[tokio::test]
async fn a_message_ends_the_summary_that_a_silence_began() {
    run_test_with(soon_silent(), async |world| {
        let summary = world.model.thinks_about_summaries();
        exchange(world, "my colour is blue", "Noted, blue.").await;
        world.model.was_asked(2).await;
        let turn = world.model.is_thinking();
        world.ann.says("#lab", "and now it is red").await;
        world.model.was_asked(3).await;
        world
            .ledger_says(
                "SELECT outcome FROM attempts WHERE kind = 'summary'",
                &["stopped"],
            )
            .await;
        turn.ends();
        world.sees("#lab", "done thinking").await;
        summary.ends();
    })
    .await;
}

/// The turn adds to what was saved, and may compact it meanwhile.
#[tokio::test]
async fn a_save_beside_a_turn_notes_nothing_as_saved() {
    run_test(async |world| {
        exchange(world, "my colour is blue", "Noted, blue.").await;
        let thought = world.model.thinks_then("Twelve.");
        let asked = world.model.requests().len();
        world.ann.says("#lab", "count the reeds").await;
        world.model.was_asked(asked + 1).await;
        let saved = asks(world, "/context save").await;
        assert!(saved.contains("Session saved"), "{saved}");
        let noted = "SELECT cast(saved_items AS TEXT) FROM conversations";
        assert_eq!(world.ledger(noted).await, ["0"]);
        thought.ends();
        world.sees("#lab", "Twelve.").await;
    })
    .await;
}

#[tokio::test]
async fn a_closing_branch_holds_up_no_other_conversation() {
    run_test(async |world| {
        opens_thread(world, "aside");
        world.model.answers("Reeds noted.");
        world.ann.says("#aside", "remember reeds").await;
        world.sees("#aside", "Reeds noted.").await;
        let (kill, summary) = thinks_about(world, "/branch kill id:1", "#lab").await;
        exchange(world, "my colour is blue", "Noted, blue.").await;
        assert_eq!(summaries(world).await, [""; 0], "no branch was closing");
        world.model.answers("What reeds?");
        let waiting = world.ann.says("#aside", "which reeds?").await;
        is_stored(world, waiting).await;

        summary.ends();
        answers(world, kill, "Killed 1 branch").await;
        world.sees("#aside", "What reeds?").await;
        let request = world.model.last_request().to_string();
        assert!(!request.contains("remember reeds"), "{request}");
    })
    .await;
}

#[tokio::test]
async fn a_compaction_holds_up_no_other_conversation_and_ends_with_a_stop_of_its_own() {
    let setup = Setup {
        config: json!({
            "default_permissions": "locked",
            "models": {MODEL: {"window": 16_000, "max_output": 4_000}},
        }),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        for number in 1..=2 {
            let answer = format!("Answer {number}. {}", "So it was. ".repeat(120));
            world.model.answers(&answer);
            world.ann.says("#lab", &format!("Question {number}")).await;
            world.sees("#lab", &format!("Answer {number}.")).await;
        }
        let (compact, _thought) = thinks_about(world, "/context compact", "#lab").await;
        opens_thread(world, "aside");
        world.model.answers("Reeds noted.");
        world.ann.says("#aside", "remember reeds").await;
        world.sees("#aside", "Reeds noted.").await;
        let elsewhere = world.ann.asks("/abort", "#aside").await;
        assert!(!elsewhere.contains("compaction"), "{elsewhere}");
        assert_eq!(
            summaries(world).await,
            [""; 0],
            "no compaction was going on"
        );

        let here = asks(world, "/abort").await;
        assert!(here.contains("Cancelled the compaction"), "{here}");
        answers(world, compact, "nothing was changed").await;
        assert_eq!(summaries(world).await, ["stopped"]);
    })
    .await;
}
