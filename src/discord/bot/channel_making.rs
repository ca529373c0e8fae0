//! Only one channel at a time is made in a server: two at once would each make a category for it.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::domain::GuildId;

/// Servers in which a channel is being made: one at a time in each.
#[derive(Debug, Default)]
pub(in crate::discord) struct ChannelMaking(Mutex<HashMap<GuildId, Arc<tokio::sync::Mutex<()>>>>);

impl ChannelMaking {
    /// The lock of one server.
    pub(in crate::discord) fn lock(&self, guild: GuildId) -> Arc<tokio::sync::Mutex<()>> {
        let mut locks = self.0.lock();
        Arc::clone(locks.entry(guild).or_default())
    }
}
