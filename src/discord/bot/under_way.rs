//! Channels where something of ours is being created: people can see it, and reply to it, before the ledger knows its
//! id.

use std::collections::HashMap;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use super::Bot;
use crate::domain::ChannelId;
use crate::store::StoreError;

/// How long a reply waits for the id of the message that it replies to: an unanswered post is tried again after five
/// seconds.
const POSTED_WITHIN: Duration = Duration::from_secs(10);

/// How long Discord may take to open a thread. A sub-agent does not wait for its thread, but messages in it would come
/// late.
pub(in crate::discord) const OPENED_WITHIN: Duration = Duration::from_secs(20);

/// How much is being created in each channel.
#[derive(Debug)]
pub(in crate::discord) struct UnderWay {
    made: watch::Sender<HashMap<ChannelId, usize>>,
    /// Longest wait: in an outage people's messages continue after it.
    settles_within: Duration,
}

/// Something that is being created, until this guard is dropped.
pub(in crate::discord) struct UnderWayGuard<'a> {
    all: &'a UnderWay,
    channel: ChannelId,
}

impl UnderWay {
    /// Creates it for parts of answers that are being posted.
    pub(in crate::discord) fn posts() -> Self {
        Self::settling_within(POSTED_WITHIN)
    }

    /// Creates it for threads of sub-agents that are being opened, by the channel above.
    pub(in crate::discord) fn threads() -> Self {
        Self::settling_within(OPENED_WITHIN)
    }

    fn settling_within(settles_within: Duration) -> Self {
        Self {
            made: watch::Sender::default(),
            settles_within,
        }
    }

    /// Records that something is about to be created in `channel`.
    pub(in crate::discord) fn begin(&self, channel: ChannelId) -> UnderWayGuard<'_> {
        self.made
            .send_modify(|made| *made.entry(channel).or_default() += 1);
        UnderWayGuard { all: self, channel }
    }

    /// Returns whether something is being created in `channel`.
    pub(in crate::discord) fn is_in(&self, channel: ChannelId) -> bool {
        self.made.borrow().contains_key(&channel)
    }

    /// Waits until nothing is being created in `channel`.
    pub(in crate::discord) async fn settles(&self, channel: ChannelId) {
        let mut made = self.made.subscribe();
        // The sender is in `self`, so only the deadline can end this early.
        let _ = timeout(
            self.settles_within,
            made.wait_for(|made| !made.contains_key(&channel)),
        )
        .await;
    }
}

impl Drop for UnderWayGuard<'_> {
    fn drop(&mut self) {
        self.all.made.send_modify(|made| {
            if let Some(count) = made.get_mut(&self.channel) {
                *count -= 1;
                if *count == 0 {
                    made.remove(&self.channel);
                }
            }
        });
    }
}

impl Bot {
    /// Waits for the id of a thread of ours that is being opened below `parent`, if it may be `thread`: the id
    /// determines the sub-agent of the thread.
    pub(in crate::discord) async fn knows_thread(
        &self,
        thread: ChannelId,
        parent: Option<ChannelId>,
    ) {
        let Some(parent) = parent.filter(|parent| self.opening.is_in(*parent)) else {
            return;
        };
        if !matches!(self.is_of_a_conversation(thread).await, Ok(true)) {
            self.opening.settles(parent).await;
        }
    }

    async fn is_of_a_conversation(&self, thread: ChannelId) -> Result<bool, StoreError> {
        let branch = self.store.conversation_by_thread(thread).await?;
        Ok(branch.is_some() || self.store.child_in_thread(thread).await?.is_some())
    }
}
