//! The local Discord as a value. Operations for tests only are in `testing`.

mod places;

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::saved;
use super::world::World;

/// A local Discord. Clones share it.
#[derive(Clone)]
pub struct Discord {
    shared: Arc<Shared>,
}

impl std::fmt::Debug for Discord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Discord").finish_non_exhaustive()
    }
}

struct Shared {
    world: Mutex<World>,
    changes: watch::Sender<u64>,
    stop: CancellationToken,
    base: String,
    token: String,
    folder: Option<PathBuf>,
}

impl Discord {
    /// Creates the local Discord of this world; its servers end with `stop`.
    pub(crate) fn of(world: World, folder: Option<PathBuf>, stop: CancellationToken) -> Self {
        let shared = Shared {
            base: world.base.clone(),
            token: world.token.clone(),
            world: Mutex::new(world),
            changes: watch::channel(0).0,
            stop,
            folder,
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Ends it; connections are closed as they become idle.
    pub fn stop(&self) {
        self.change(|world| world.gateway.cut());
        self.shared.stop.cancel();
    }

    /// Writes everything into its folder, if it has one.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be written.
    pub fn save(&self) -> io::Result<()> {
        match &self.shared.folder {
            Some(folder) => self.look(saved::Picture::of).write(folder),
            None => Ok(()),
        }
    }

    /// Returns a receiver that is notified of each change from now on.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.shared.changes.subscribe()
    }

    /// Returns the replacement for `https://discord.com`, such as `http://127.0.0.1:4000`: REST is below its
    /// `/api/v10`.
    pub fn base_url(&self) -> &str {
        &self.shared.base
    }

    /// Returns the bot's token.
    pub fn token(&self) -> &str {
        &self.shared.token
    }

    /// Changes the world and wakes everything that waits for a change.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        let result = {
            let mut world = self
                .shared
                .world
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            change(&mut world)
        };
        self.shared.changes.send_modify(|count| *count += 1);
        result
    }

    /// Reads the world.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&World) -> T) -> T {
        look(
            &self
                .shared
                .world
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }

    /// Waits until `found` returns a value, trying again after each change.
    pub async fn wait_for<T>(&self, mut found: impl FnMut(&Self) -> Option<T>) -> T {
        let mut changes = self.shared.changes.subscribe();
        loop {
            changes.mark_unchanged();
            if let Some(result) = found(self) {
                return result;
            }
            // The sender lives in `self`, so this ends only with a change.
            let _ = changes.changed().await;
        }
    }
}
