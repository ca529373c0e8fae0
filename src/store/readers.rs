//! The connections that only read.

use std::panic;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::error::StoreError;
use super::open::{self, Access};

/// Connections that are opened as they are needed and kept. Each read is on a thread that may wait for the disk.
#[derive(Clone)]
pub(super) struct Readers {
    shared: Arc<Shared>,
}

struct Shared {
    path: PathBuf,
    /// Those that nobody uses, the one used last at the end.
    idle: Mutex<Vec<Connection>>,
    /// One place for each connection that may be used at the same time.
    places: Arc<Semaphore>,
    count: u32,
}

impl Readers {
    /// At most `count` at the same time.
    pub(super) fn new(path: PathBuf, count: u32) -> Self {
        Self {
            shared: Arc::new(Shared {
                path,
                idle: Mutex::default(),
                places: Arc::new(Semaphore::new(count as usize)),
                count,
            }),
        }
    }

    /// Runs `work` on one of them.
    ///
    /// # Errors
    ///
    /// Those of `work`; [`StoreError::Closed`] after [`Self::close`].
    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let place = Arc::clone(&self.shared.places).acquire_owned().await;
        let place = place.map_err(|_| StoreError::Closed)?;
        let shared = Arc::clone(&self.shared);
        blocking(move || shared.read(place, work)).await
    }

    /// The same on a thread that may wait for the disk already, if one of them is free now.
    pub(super) fn read_here<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Option<Result<T, StoreError>> {
        let place = Arc::clone(&self.shared.places).try_acquire_owned().ok()?;
        Some(self.shared.read(place, work))
    }

    /// Waits for the reads under way and closes all connections.
    pub(super) async fn close(&self) {
        // This fails only when it is closed already.
        let _ = self.shared.places.acquire_many(self.shared.count).await;
        self.shared.places.close();
        self.shared.idle.lock().clear();
    }
}

impl Shared {
    fn read<T>(
        &self,
        _place: OwnedSemaphorePermit,
        work: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let db = self.connection()?;
        let found = work(&db);
        self.idle.lock().push(db);
        found
    }

    fn connection(&self) -> Result<Connection, StoreError> {
        match self.idle.lock().pop() {
            Some(db) => Ok(db),
            None => open::connect(&self.path, Access::Read),
        }
    }
}

/// Runs `work` on a thread that may wait. A panic of it is the caller's.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(found) => found,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => panic::resume_unwind(panic),
            Err(_) => Err(StoreError::Closed),
        },
    }
}
