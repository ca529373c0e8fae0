//! Time as people and files see it.

use std::time::Duration;

use chrono::{DateTime, Utc};

use super::{ago, duration, now, rfc3339};

fn at(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

#[test]
fn a_time_read_back_is_the_time_written() {
    let time = now();
    assert_eq!(at(&rfc3339(time)), time);
    assert_eq!(
        rfc3339(at("2026-11-21T07:08:09Z")),
        "2026-11-21T07:08:09.000000Z"
    );
}

#[test]
fn lengths_are_said_in_one_unit() {
    let said = |seconds| duration(Duration::from_secs(seconds));
    assert_eq!(said(0), "0 s");
    assert_eq!(said(59), "59 s");
    assert_eq!(said(1800), "30 min");
    assert_eq!(said(3 * 3600 + 59), "3 h");
    assert_eq!(said(86_400), "1 day");
    assert_eq!(said(200_000), "2 days");
}

#[test]
fn a_time_ahead_of_our_clock_is_now() {
    let now = at("2026-11-21T12:00:00Z");
    assert_eq!(ago(at("2026-11-21T11:55:00Z"), now), "5 min ago");
    assert_eq!(ago(at("2026-11-21T11:59:58Z"), now), "just now");
    assert_eq!(ago(at("2026-11-21T12:00:09Z"), now), "just now");
}
