//! Reads the database beside a running daemon, without the ability to change it.

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use sqlx::Connection as _;
use sqlx::sqlite::SqlitePoolOptions;
use tokio::sync::mpsc;

use super::error::StoreError;
use super::open;
use super::{Inner, Store};
use crate::text;

impl Store {
    /// Opens `path` for reading only, also while a daemon works on it. Whatever would write gets
    /// [`StoreError::Closed`].
    ///
    /// # Errors
    ///
    /// A damaged, foreign or newer database is refused.
    pub async fn open_read_only(path: &Path) -> Result<Self, StoreError> {
        open::judge_read_only(path, open::Depth::Shallow).await?;
        let (jobs, _) = mpsc::channel(1);
        Ok(Self {
            inner: Arc::new(Inner {
                path: path.to_owned(),
                jobs,
                readers: SqlitePoolOptions::new()
                    .max_connections(1)
                    .connect_lazy_with(open::options(path).read_only(true)),
                writer: Mutex::new(None),
            }),
        })
    }

    /// Reads the whole database and returns the result in one line.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub async fn examine(path: &Path) -> Result<String, StoreError> {
        open::judge_read_only(path, open::Depth::Whole).await?;
        let mut db = open::connect_read_only(path).await?;
        let version: String = sqlx::query_scalar("SELECT sqlite_version()")
            .fetch_one(&mut db)
            .await?;
        let agents: i64 =
            sqlx::query_scalar("SELECT count(*) FROM agents WHERE status <> 'destroyed'")
                .fetch_one(&mut db)
                .await?;
        let sessions: i64 = sqlx::query_scalar("SELECT count(*) FROM sessions")
            .fetch_one(&mut db)
            .await?;
        db.close().await?;
        Ok(format!(
            "whole; {}, {} (SQLite {version})",
            text::count(agents.max(0) as usize, "agent", "agents"),
            text::count(sessions.max(0) as usize, "session", "sessions")
        ))
    }
}
