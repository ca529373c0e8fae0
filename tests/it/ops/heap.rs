//! When a crowd of turns is over, so that the memory it took can be given back, and what becomes of conversations then.

use std::time::Duration;

use chorus::daemon::crowd_is_over;
use tokio::sync::watch;

use crate::poll;
use crate::world::{Setup, World, run_test_with};

/// Longer than any test runs.
const LONG: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn a_crowd_is_over_after_a_silence() {
    let (turns, mut seen) = watch::channel(0);
    turns.send_replace(16);
    let over = tokio::spawn(async move { crowd_is_over(&mut seen, Duration::ZERO).await });
    tokio::task::yield_now().await;
    assert!(!over.is_finished(), "they run");
    turns.send_replace(0);
    assert!(over.await.unwrap());
}

#[tokio::test]
async fn a_crowd_that_speaks_again_is_not_over() {
    let (turns, mut seen) = watch::channel(16);
    let over = tokio::spawn(async move { crowd_is_over(&mut seen, LONG).await });
    for running in [0, 1, 0] {
        tokio::task::yield_now().await;
        assert!(!over.is_finished(), "its silence is not");
        turns.send_replace(running);
    }
    drop(turns);
    assert!(!over.await.unwrap(), "the daemon ends");
}

#[tokio::test]
async fn a_few_turns_are_not_a_crowd() {
    let (turns, mut seen) = watch::channel(0);
    let over = tokio::spawn(async move { crowd_is_over(&mut seen, Duration::ZERO).await });
    for running in (0..16).chain((0..15).rev()) {
        turns.send_replace(running);
        tokio::task::yield_now().await;
        assert!(!over.is_finished(), "{running} at once");
    }
    drop(turns);
    assert!(!over.await.unwrap(), "the daemon ends");
}

/// Has sixteen branches work at once, and waits until the memory of that is given back.
async fn crowd(world: &World) {
    let thoughts: Vec<_> = (0..16).map(|_| world.model.is_thinking()).collect();
    for number in 0..16 {
        let command = format!("/branch new prompt:task {number}");
        world.ann.runs(&command, "#lab").await;
    }
    world.model.was_asked(17).await;
    drop(thoughts);
    while world.logged("memory of a crowd").is_empty() {
        poll::pause().await;
    }
}

#[tokio::test]
async fn after_a_crowd_a_conversation_is_read_where_it_is_kept_and_goes_on() {
    let setup = Setup {
        // It does not panic; what it writes to its log is kept.
        breaks_at: Some("no line says this"),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.exchange("the word is plum", "Noted.").await;
        let before = world.ann.asks("/status", "#lab").await;
        crowd(world).await;
        let tokens = |status: &str| {
            let line = status.lines().find(|line| line.contains("tokens"));
            line.map(str::to_owned)
        };
        let after = world.ann.asks("/status", "#lab").await;
        assert_eq!(tokens(&before), tokens(&after), "{after}");
        // Nothing of it is in memory any more.
        let change = "UPDATE items SET body = replace(body, 'plum', 'pear')";
        world.changes_ledger(change).await;
        world.exchange("which word?", "Pear.").await;
        let told = world.model.last_request()["messages"].to_string();
        assert!(
            told.contains("the word is pear") && told.contains("Noted."),
            "{told}"
        );
    })
    .await;
}
