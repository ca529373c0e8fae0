//! What was said while we were away.

use chorus::discord::inbound::catch_up::{Bounds, Place, Plan, plan, read_after};
use chorus::domain::{ChannelId, MessageId};
use chrono::{DateTime, Duration, Utc};

const CHANNEL: ChannelId = ChannelId(1_000);

fn at(now: DateTime<Utc>, age: Duration, n: u64) -> MessageId {
    let millis = u64::try_from((now - age).timestamp_millis()).unwrap() - 1_420_070_400_000;
    MessageId((millis << 22) + n)
}

fn bounds() -> Bounds {
    Bounds {
        max_age: Duration::hours(24),
        max_messages: 3,
    }
}

fn place(last: Option<u64>, cursor: Option<u64>) -> Place {
    Place {
        channel: CHANNEL,
        last_message: last.map(MessageId),
        cursor: cursor.map(MessageId),
    }
}

#[test]
fn only_channels_past_their_cursor_are_read() {
    assert_eq!(read_after(&place(Some(2_000), Some(2_000))), None);
    assert_eq!(read_after(&place(None, Some(2_000))), None);
    assert_eq!(
        read_after(&place(Some(3_000), Some(2_000))),
        Some(MessageId(2_000))
    );
    assert_eq!(
        read_after(&place(Some(3_000), None)),
        Some(MessageId(1_000))
    );
}

#[test]
fn a_message_id_says_when_it_was_sent() {
    let now = Utc::now();
    let sent = at(now, Duration::minutes(5), 3).sent_at();
    assert_eq!(
        sent.timestamp_millis(),
        (now - Duration::minutes(5)).timestamp_millis()
    );
}

#[test]
fn the_oldest_comes_first_and_what_came_twice_counts_once() {
    let now = Utc::now();
    let (a, b) = (
        at(now, Duration::hours(2), 0),
        at(now, Duration::hours(1), 0),
    );
    assert_eq!(
        plan(vec![b, a, b], bounds(), now),
        Plan {
            take: vec![a, b],
            skip: vec![]
        }
    );
}

#[test]
fn what_is_too_old_or_too_many_is_skipped() {
    let now = Utc::now();
    let old = at(now, Duration::hours(30), 0);
    let recent: Vec<_> = (0..5).map(|n| at(now, Duration::minutes(5), n)).collect();
    let mut all = vec![old];
    all.extend(&recent);
    let plan = plan(all, bounds(), now);
    assert_eq!(plan.take, recent[2..]);
    assert_eq!(plan.skip, [&[old], &recent[..2]].concat());
}
