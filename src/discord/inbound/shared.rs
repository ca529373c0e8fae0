//! The shared state of the channels' queues.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::domain::ChannelId;

#[derive(Default)]
pub(in crate::discord) struct Shared {
    /// Counts descriptions of servers, for those that wait for one.
    pub(super) described: watch::Sender<u64>,
    /// Counts connections; a channel that has not caught up with the latest does that first.
    pub(super) epoch: AtomicU64,
    caught_up: Mutex<HashMap<ChannelId, u64>>,
    /// Locked while a message of a bot is judged and taken: of several, each sees those before it.
    pub(super) bots: tokio::sync::Mutex<()>,
}

impl Shared {
    /// Returns whether nothing of this channel's past is missing since the latest connection.
    pub(super) fn is_caught_up(&self, channel: ChannelId) -> bool {
        let caught_up = self.caught_up.lock();
        caught_up.get(&channel) == Some(&self.epoch.load(Ordering::Relaxed))
    }

    /// Records that nothing of this channel's past is missing.
    pub(super) fn mark_caught_up(&self, channel: ChannelId) {
        let epoch = self.epoch.load(Ordering::Relaxed);
        let mut caught_up = self.caught_up.lock();
        caught_up.insert(channel, epoch);
    }

    /// Records that a part of this channel's past may be missing.
    pub(super) fn mark_behind(&self, channel: ChannelId) {
        let mut caught_up = self.caught_up.lock();
        caught_up.remove(&channel);
    }
}
