//! Rate limits learned from headers.

use std::time::{Duration, Instant};

use chorus::discord::rest::limits::{Limits, RouteKey, Scope, Seen};

fn route(major: u64) -> RouteKey {
    RouteKey {
        pattern: "POST /channels/{channel}/messages",
        major,
    }
}

fn answer(remaining: u32, reset_after: u64) -> Seen {
    Seen {
        status: 200,
        bucket: Some("abc".into()),
        remaining: Some(remaining),
        reset_after: Some(Duration::from_secs(reset_after)),
        ..Seen::default()
    }
}

fn too_many(scope: Scope, retry_after: u64) -> Seen {
    Seen {
        status: 429,
        retry_after: Some(Duration::from_secs(retry_after)),
        scope,
        ..Seen::default()
    }
}

#[test]
fn an_empty_bucket_holds_its_channel_until_the_reset_and_no_other() {
    let mut limits = Limits::default();
    let now = Instant::now();
    limits.learn(&route(1), &answer(0, 5), now);
    let wait = limits.wait(&route(1), now).unwrap();
    assert!(
        wait >= Duration::from_secs(5) && wait < Duration::from_secs(6),
        "{wait:?}"
    );
    assert_eq!(limits.wait(&route(2), now), None);
    assert_eq!(limits.wait(&route(1), now + Duration::from_secs(5)), None);
}

#[test]
fn what_remains_is_counted_down_without_further_answers() {
    let mut limits = Limits::default();
    let now = Instant::now();
    limits.learn(&route(1), &answer(2, 5), now);
    for _ in 0..2 {
        assert_eq!(limits.wait(&route(1), now), None);
        limits.take(&route(1));
    }
    assert!(limits.wait(&route(1), now).is_some());
}

#[test]
fn routes_of_one_bucket_share_what_remains() {
    let mut limits = Limits::default();
    let now = Instant::now();
    let other = RouteKey {
        pattern: "PATCH /channels/{channel}/messages/{message}",
        major: 1,
    };
    limits.learn(&other, &answer(3, 5), now);
    limits.learn(&route(1), &answer(0, 5), now);
    assert!(limits.wait(&other, now).is_some());
}

#[test]
fn a_global_429_holds_everything() {
    let mut limits = Limits::default();
    let now = Instant::now();
    limits.learn(&route(1), &too_many(Scope::Global, 3), now);
    let wait = limits.wait(&route(2), now).unwrap();
    assert!(wait >= Duration::from_secs(3));
    assert_eq!(limits.wait(&route(2), now + Duration::from_secs(3)), None);
}

/// Makes and answers requests until one must wait, at most so many.
fn made_at_once(limits: &mut Limits, most: u64, now: Instant) -> u64 {
    for made in 0..most {
        if limits.wait(&route(made), now).is_some() {
            return made;
        }
        limits.take(&route(made));
        limits.learn(&route(made), &answer(9, 5), now);
        limits.over(&route(made), now);
    }
    most
}

#[test]
fn another_server_that_takes_more_than_discord_is_not_limited() {
    let mut limits = Limits::of_another_server();
    let now = Instant::now();
    assert_eq!(made_at_once(&mut limits, 500, now), 500);
    for made in 0..500 {
        assert_eq!(limits.wait(&route(made), now), None);
        limits.take(&route(made));
    }
}

#[test]
fn whether_another_server_limits_all_routes_is_tried_by_one_request_at_a_time() {
    let mut limits = Limits::of_another_server();
    let now = Instant::now();
    assert_eq!(made_at_once(&mut limits, 50, now), 50);
    limits.take(&route(1));
    assert!(limits.wait(&route(2), now).is_some(), "one is on its way");
    limits.learn(&route(1), &too_many(Scope::Global, 1), now);
    limits.over(&route(1), now);
    let soon = now + Duration::from_secs(1);
    assert!(limits.wait(&route(2), soon).is_some(), "all of them count");
    let later = now + Duration::from_millis(1_050);
    assert_eq!(limits.wait(&route(2), later), None);
    assert_eq!(made_at_once(&mut limits, 500, later), 45);
}

#[test]
fn answers_to_interactions_are_free_of_the_global_limit() {
    let mut limits = Limits::default();
    let now = Instant::now();
    let press = |major| RouteKey {
        pattern: "POST /interactions/{interaction}/{token}/callback",
        major,
    };
    for channel in 0..200 {
        limits.take(&press(channel));
    }
    assert_eq!(limits.wait(&route(1), now), None);
    limits.learn(&route(1), &too_many(Scope::Global, 5), now);
    assert_eq!(limits.wait(&press(7), now), None);
    assert!(limits.wait(&route(2), now).is_some());
}

#[test]
fn a_429_shortens_no_wait_that_is_known() {
    let mut limits = Limits::default();
    let now = Instant::now();
    limits.learn(&route(1), &answer(0, 5), now);
    limits.learn(&route(1), &too_many(Scope::Shared, 1), now);
    assert!(limits.wait(&route(1), now).unwrap() >= Duration::from_secs(5));
}

#[test]
fn a_shared_429_waits_but_is_no_invalid_request() {
    let mut limits = Limits::default();
    let now = Instant::now();
    limits.learn(&route(1), &too_many(Scope::Shared, 3), now);
    assert!(limits.wait(&route(1), now).is_some());
    assert_eq!(limits.invalid_requests(now), 0);
    limits.learn(&route(1), &too_many(Scope::User, 3), now);
    assert_eq!(limits.invalid_requests(now), 1);
    assert_eq!(limits.invalid_requests(now + Duration::from_secs(600)), 0);
}

#[test]
fn near_the_ban_all_requests_pause() {
    let mut limits = Limits::default();
    let now = Instant::now();
    let forbidden = Seen {
        status: 403,
        ..Seen::default()
    };
    for _ in 0..9_000 {
        limits.learn(&route(1), &forbidden, now);
    }
    assert!(limits.wait(&route(7), now).unwrap() > Duration::from_secs(590));
}

#[test]
fn no_second_sees_more_than_the_global_limit() {
    let mut limits = Limits::default();
    let now = Instant::now();
    let mut made = 0;
    while limits.wait(&route(made), now).is_none() {
        limits.take(&route(made));
        made += 1;
        assert!(made < 51, "more than 50 in one second");
    }
    assert!(made >= 40);
    // However long their answers take, Discord may have seen them a moment before these came.
    let answered = now + Duration::from_secs(30);
    assert!(limits.wait(&route(0), answered).is_some());
    for number in 0..made {
        limits.over(&route(number), answered);
    }
    let soon = answered + Duration::from_millis(999);
    assert!(limits.wait(&route(0), soon).is_some());
    let later = answered + Duration::from_millis(1_050);
    assert_eq!(limits.wait(&route(0), later), None);
}
