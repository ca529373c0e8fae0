//! Reads the database beside a running daemon, without being able to change it.

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use sqlx::{Connection as _, SqliteConnection, query_scalar};
use tokio::sync::mpsc;

use super::causes::Reserved;
use super::error::StoreError;
use super::open::{self, Depth};
use super::readers::readers;
use super::statement::{checked, scalar};
use super::{Inner, Store};
use crate::text;

impl Store {
    /// Opens `path` read-only, even while a daemon works on it. Any write gets [`StoreError::Closed`].
    ///
    /// # Errors
    ///
    /// Fails for a damaged, foreign or newer database.
    pub async fn open_read_only(path: &Path) -> Result<Self, StoreError> {
        open::judge_read_only(path, Depth::Shallow).await?;
        let (jobs, _) = mpsc::channel(1);
        Ok(Self {
            inner: Arc::new(Inner {
                readers: readers(path, 1),
                path: path.to_owned(),
                jobs,
                reserved: Reserved::default(),
                writer: Mutex::new(None),
            }),
        })
    }

    /// Reads the whole database and returns the result in one line.
    ///
    /// # Errors
    ///
    /// Fails with the fault in it.
    pub async fn examine(path: &Path) -> Result<String, StoreError> {
        open::judge_read_only(path, Depth::Whole).await?;
        let mut db = open::connect_read_only(path).await?;
        let found = examine(&mut db).await;
        db.close().await?;
        found
    }
}

async fn examine(db: &mut SqliteConnection) -> Result<String, StoreError> {
    let version: String = checked(query_scalar!("SELECT sqlite_version()"))
        .one(db, scalar)
        .await?;
    let agents: i64 = checked(query_scalar!(
        "SELECT count(*) FROM agents WHERE status <> 'destroyed'"
    ))
    .one(db, scalar)
    .await?;
    let sessions: i64 = checked(query_scalar!("SELECT count(*) FROM sessions"))
        .one(db, scalar)
        .await?;
    Ok(format!(
        "whole; {}, {} (SQLite {version})",
        text::count(agents.max(0) as usize, "agent", "agents"),
        text::count(sessions.max(0) as usize, "session", "sessions")
    ))
}
