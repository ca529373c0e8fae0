//! The idle timer: when it fires, and when it must not.

use std::time::Duration;

use chorus::agent::idle_timer::{IdleFired, IdleTimer, remaining};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

const SHORT: Option<Duration> = Some(Duration::from_millis(1));
const LONG: Option<Duration> = Some(Duration::from_secs(3600));

fn timer(timeout: Option<Duration>) -> (IdleTimer, UnboundedReceiver<IdleFired>) {
    let (send, fired) = unbounded_channel();
    let timer = IdleTimer::new(timeout, move |event| {
        let _ = send.send(event);
    });
    (timer, fired)
}

#[tokio::test]
async fn it_fires_after_its_timeout_once() {
    let (timer, mut fired) = timer(SHORT);
    timer.reset();
    let event = fired.recv().await.unwrap();
    assert!(timer.is_current(event));
    drop(timer);
    assert_eq!(fired.recv().await, None);
}

#[tokio::test]
async fn a_message_in_the_same_instant_makes_the_firing_stale() {
    let (timer, mut fired) = timer(SHORT);
    timer.reset();
    let event = fired.recv().await.unwrap();
    timer.reset();
    assert!(!timer.is_current(event));
}

#[tokio::test]
async fn it_does_not_fire_while_held_and_starts_anew_after() {
    let (timer, mut fired) = timer(SHORT);
    let turn = timer.hold();
    let question = timer.hold();
    timer.reset();
    drop(turn);
    // Long past its time, and still nothing: the question holds it.
    let early = tokio::time::timeout(Duration::from_millis(20), fired.recv()).await;
    assert!(early.is_err());
    drop(question);
    let event = fired.recv().await.unwrap();
    assert!(timer.is_current(event));
}

#[tokio::test]
async fn a_firing_that_meets_a_turn_is_stale_and_comes_again_after_it() {
    let (timer, mut fired) = timer(SHORT);
    timer.reset();
    let event = fired.recv().await.unwrap();
    let turn = timer.hold();
    assert!(!timer.is_current(event));
    drop(turn);
    let event = fired.recv().await.unwrap();
    assert!(timer.is_current(event));
}

#[tokio::test]
async fn zero_means_never_until_another_timeout_is_set() {
    let (timer, mut fired) = timer(Some(Duration::ZERO));
    timer.reset();
    assert_eq!(timer.timeout(), None);
    timer.set_timeout(SHORT);
    let event = fired.recv().await.unwrap();
    assert!(timer.is_current(event));
}

#[tokio::test]
async fn a_shorter_timeout_counts_from_the_last_message() {
    let (timer, mut fired) = timer(LONG);
    timer.reset();
    timer.set_timeout(SHORT);
    assert!(timer.is_current(fired.recv().await.unwrap()));
}

#[tokio::test]
async fn stopped_it_waits_for_nothing() {
    let (timer, mut fired) = timer(SHORT);
    timer.reset();
    timer.stop();
    timer.set_timeout(LONG);
    let watched = timer.clone();
    drop(timer);
    // One may have been on its way already.
    while let Ok(event) = fired.try_recv() {
        assert!(!watched.is_current(event));
    }
    drop(watched);
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
