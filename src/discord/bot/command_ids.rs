//! The ids of our commands in each server, which mentions of commands need. They are stored, so that a restart does not
//! lose them.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use tracing::warn;

use super::Bot;
use crate::discord::rest::mention::CommandIds;
use crate::domain::GuildId;

/// The ids by server.
#[derive(Debug, Default)]
pub(in crate::discord) struct KnownIds(Mutex<HashMap<GuildId, Arc<CommandIds>>>);

impl Bot {
    /// Returns the known ids of commands in a server.
    pub(in crate::discord) fn command_ids(&self, guild: GuildId) -> Arc<CommandIds> {
        let known = self.known_ids.0.lock();
        known.get(&guild).map(Arc::clone).unwrap_or_default()
    }

    /// Takes the ids from Discord's list of our commands in a server, and stores them.
    pub(in crate::discord) async fn learn_command_ids(&self, guild: GuildId, registered: &Value) {
        let ids = CommandIds::of(registered);
        if *self.command_ids(guild) == ids {
            return;
        }
        let kept = self.store.set_meta(&self.key(guild), &ids.to_json()).await;
        if let Err(error) = kept {
            warn!(%error, "failed to store the ids of the commands; they are read again at the next start");
        }
        self.known_ids.0.lock().insert(guild, Arc::new(ids));
    }

    /// Reads the stored ids, if none are known.
    pub(in crate::discord) async fn recall_command_ids(&self, guild: GuildId) {
        if self.known_ids.0.lock().contains_key(&guild) {
            return;
        }
        match self.store.meta(&self.key(guild)).await {
            Ok(Some(json)) => {
                let ids = Arc::new(CommandIds::from_json(&json));
                self.known_ids.0.lock().entry(guild).or_insert(ids);
            }
            Ok(None) => {}
            Err(error) => warn!(%error, "failed to read the ids of the commands"),
        }
    }

    fn key(&self, guild: GuildId) -> String {
        format!("command_ids:{}:{guild}", self.application)
    }
}
