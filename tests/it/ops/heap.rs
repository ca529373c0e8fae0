//! When a crowd of turns is over, so that the memory it took can be given back.

use std::time::Duration;

use chorus::daemon::crowd_is_over;
use tokio::sync::watch;

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
async fn a_few_turns_are_no_crowd() {
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
