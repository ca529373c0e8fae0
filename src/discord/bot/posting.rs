//! Channels in which a part of an answer is being posted: people can see it, and reply to it, before the ledger knows its id.

use std::collections::HashMap;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use crate::domain::ChannelId;

/// How long a reply waits for the id of what it replies to: a post without an answer is tried again after five seconds.
const SETTLED_WITHIN: Duration = Duration::from_secs(10);

/// How many parts are being posted in each channel.
#[derive(Debug, Default)]
pub(in crate::discord) struct Posting(watch::Sender<HashMap<ChannelId, usize>>);

/// A part that is being posted, until this is dropped.
pub(in crate::discord) struct PostGuard<'a> {
    posting: &'a Posting,
    channel: ChannelId,
}

impl Posting {
    /// A part is about to be posted in `channel`.
    pub(in crate::discord) fn begin(&self, channel: ChannelId) -> PostGuard<'_> {
        self.0
            .send_modify(|posts| *posts.entry(channel).or_default() += 1);
        PostGuard {
            posting: self,
            channel,
        }
    }

    /// Whether a part is being posted in `channel`.
    pub(in crate::discord) fn is_under_way(&self, channel: ChannelId) -> bool {
        self.0.borrow().contains_key(&channel)
    }

    /// Waits until nothing is being posted in `channel`, but not for long: in an outage people's messages go on.
    pub(in crate::discord) async fn settles(&self, channel: ChannelId) {
        let mut posts = self.0.subscribe();
        // The sender is in `self`, so only the deadline ends this before.
        let _ = timeout(
            SETTLED_WITHIN,
            posts.wait_for(|posts| !posts.contains_key(&channel)),
        )
        .await;
    }
}

impl Drop for PostGuard<'_> {
    fn drop(&mut self) {
        self.posting.0.send_modify(|posts| {
            if let Some(count) = posts.get_mut(&self.channel) {
                *count -= 1;
                if *count == 0 {
                    posts.remove(&self.channel);
                }
            }
        });
    }
}
