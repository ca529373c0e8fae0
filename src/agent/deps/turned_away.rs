//! People whose messages were not taken: each is told once in a while, so that many messages do not cause many lines.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::domain::{ChannelId, UserId};

/// Time between two lines about messages of one person in one channel that were not taken.
const TOLD_EVERY: Duration = Duration::from_secs(3_600);

/// People who are remembered as told. With more, no further line is written for a while.
const MOST_TOLD: usize = 1_000;

/// Who was told lately that a message was not taken, and where.
#[derive(Debug, Default)]
pub struct TurnedAway(Mutex<HashMap<(ChannelId, UserId), Instant>>);

impl TurnedAway {
    /// Whether a line is due about a message of `user` in `channel`; it counts as said then.
    pub(in crate::agent) fn is_due(&self, channel: ChannelId, user: UserId) -> bool {
        let mut told = self.0.lock();
        let now = Instant::now();
        told.retain(|_, at| now.saturating_duration_since(*at) < TOLD_EVERY);
        if told.len() >= MOST_TOLD || told.contains_key(&(channel, user)) {
            return false;
        }
        told.insert((channel, user), now);
        true
    }
}
