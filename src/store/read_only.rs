//! Reads the database beside a running daemon, without the ability to change it.

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::mpsc;

use super::causes::Reserved;
use super::error::StoreError;
use super::open::{self, Depth};
use super::readers::{Readers, blocking};
use super::statement::{scalar, sql};
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
        let path = path.to_owned();
        blocking(move || {
            open::judge_read_only(&path, Depth::Shallow)?;
            let (jobs, _) = mpsc::channel(1);
            Ok(Self {
                inner: Arc::new(Inner {
                    readers: Readers::new(path.clone(), 1),
                    path,
                    jobs,
                    reserved: Reserved::default(),
                    writer: Mutex::new(None),
                }),
            })
        })
        .await
    }

    /// Reads the whole database and returns the result in one line.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub async fn examine(path: &Path) -> Result<String, StoreError> {
        let path = path.to_owned();
        blocking(move || examine(&path)).await
    }
}

fn examine(path: &Path) -> Result<String, StoreError> {
    open::judge_read_only(path, Depth::Whole)?;
    let db = open::connect_read_only(path)?;
    let version: String = sql("SELECT sqlite_version()").one(&db, scalar)?;
    let agents: i64 =
        sql("SELECT count(*) FROM agents WHERE status <> 'destroyed'").one(&db, scalar)?;
    let sessions: i64 = sql("SELECT count(*) FROM sessions").one(&db, scalar)?;
    Ok(format!(
        "whole; {}, {} (SQLite {version})",
        text::count(agents.max(0) as usize, "agent", "agents"),
        text::count(sessions.max(0) as usize, "session", "sessions")
    ))
}
