//! The read-only connections.

use std::path::Path;
use std::time::Duration;

use sqlx::SqlitePool;
use sqlx::pool::PoolConnection;
use sqlx::sqlite::{Sqlite, SqlitePoolOptions};

use super::error::StoreError;
use super::open::{self, Access};

/// How long a read waits for a connection that others use: longer than any of their reads takes.
const PATIENCE: Duration = Duration::from_secs(600);

/// Creates a pool with connections that are opened as needed and kept.
pub(super) fn readers(path: &Path, count: u32) -> SqlitePool {
    SqlitePoolOptions::new()
        .max_connections(count)
        .acquire_timeout(PATIENCE)
        // A connection to a file does not go stale, and checking it takes longer than most reads.
        .test_before_acquire(false)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_lazy_with(open::options(path, Access::Read))
}

/// Returns a read-only connection. It sees everything that was stored before.
///
/// # Errors
///
/// Fails with [`StoreError::Closed`] after the store was closed.
pub(super) async fn reader(pool: &SqlitePool) -> Result<PoolConnection<Sqlite>, StoreError> {
    Ok(pool.acquire().await?)
}
