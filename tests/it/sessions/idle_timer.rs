//! The idle timer: when it fires, and when it must not.

use std::time::Duration;

use chorus::agent::idle_timer::{IdleTimer, remaining};

const SHORT: Option<Duration> = Some(Duration::from_millis(1));
const LONG: Option<Duration> = Some(Duration::from_secs(3600));

/// Whether it fires within a time that is long beside [`SHORT`].
async fn fires(timer: &IdleTimer) -> bool {
    tokio::time::timeout(Duration::from_millis(20), timer.fires())
        .await
        .is_ok()
}

#[tokio::test]
async fn it_fires_after_its_timeout_once() {
    let timer = IdleTimer::new(SHORT);
    timer.reset();
    assert!(timer.is_current(timer.fires().await));
    assert!(!fires(&timer).await);
}

#[tokio::test]
async fn a_wait_that_was_given_up_loses_nothing() {
    let timer = IdleTimer::new(LONG);
    timer.reset();
    assert!(!fires(&timer).await);
    timer.set_timeout(SHORT);
    assert!(timer.is_current(timer.fires().await));
}

#[tokio::test]
async fn a_message_in_the_same_instant_makes_the_firing_stale() {
    let timer = IdleTimer::new(SHORT);
    timer.reset();
    let event = timer.fires().await;
    timer.reset();
    assert!(!timer.is_current(event));
}

#[tokio::test]
async fn it_does_not_fire_while_held_and_starts_anew_after() {
    let timer = IdleTimer::new(SHORT);
    let turn = timer.hold();
    let question = timer.hold();
    timer.reset();
    drop(turn);
    // Long past its time, and still nothing: the question holds it.
    assert!(!fires(&timer).await);
    drop(question);
    assert!(timer.is_current(timer.fires().await));
}

#[tokio::test]
async fn a_firing_that_meets_a_turn_is_stale_and_comes_again_after_it() {
    let timer = IdleTimer::new(SHORT);
    timer.reset();
    let event = timer.fires().await;
    let turn = timer.hold();
    assert!(!timer.is_current(event));
    drop(turn);
    assert!(timer.is_current(timer.fires().await));
}

#[tokio::test]
async fn zero_means_never_until_another_timeout_is_set() {
    let timer = IdleTimer::new(Some(Duration::ZERO));
    timer.reset();
    assert_eq!(timer.timeout(), None);
    assert!(!fires(&timer).await);
    timer.set_timeout(SHORT);
    assert!(timer.is_current(timer.fires().await));
}

#[tokio::test]
async fn a_shorter_timeout_counts_from_the_last_message() {
    let timer = IdleTimer::new(LONG);
    timer.reset();
    timer.set_timeout(SHORT);
    assert!(timer.is_current(timer.fires().await));
}

#[tokio::test]
async fn stopped_it_waits_for_nothing() {
    let timer = IdleTimer::new(SHORT);
    timer.reset();
    timer.stop();
    timer.set_timeout(LONG);
    assert!(!fires(&timer).await);
}

#[test]
fn after_a_crash_what_remains_is_at_least_a_minute() {
    let active = "2026-02-12T10:00:00Z".parse().unwrap();
    let after = |minutes: i64| active + chrono::TimeDelta::minutes(minutes);
    let timeout = Duration::from_secs(1800);
    assert_eq!(
        remaining(timeout, active, after(10)),
        Duration::from_secs(1200)
    );
    assert_eq!(
        remaining(timeout, active, after(29)),
        Duration::from_secs(60)
    );
    assert_eq!(
        remaining(timeout, active, after(500)),
        Duration::from_secs(60)
    );
    // The clock was set back meanwhile.
    assert_eq!(remaining(timeout, active, after(-5)), timeout);
}
