//! Creates only one channel at a time in a server: two at once would each create a category for it.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::domain::GuildId;

/// Servers in which a channel is being created: one at a time in each.
#[derive(Debug, Default)]
pub(in crate::discord) struct ChannelMaking(Mutex<HashMap<GuildId, Arc<tokio::sync::Mutex<()>>>>);

impl ChannelMaking {
    /// Returns the lock of one server.
    pub(in crate::discord) fn lock(&self, guild: GuildId) -> Arc<tokio::sync::Mutex<()>> {
        let mut locks = self.0.lock();
        Arc::clone(locks.entry(guild).or_default())
    }
}
