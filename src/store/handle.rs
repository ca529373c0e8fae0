//! The handle to the database: how it is opened, read, written and closed.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use sqlx::pool::PoolConnection;
use sqlx::sqlite::{Sqlite, SqliteConnection, SqlitePool};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::batch::{Batch, Outcome};
use super::error::StoreError;
use super::open;
use super::writer::{self, Job, Message, Reply, Scripted, Stepped, Writer};

/// The database of one home.
#[derive(Clone)]
pub struct Store {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) path: PathBuf,
    pub(super) jobs: mpsc::Sender<Message>,
    pub(super) readers: SqlitePool,
    pub(super) writer: Mutex<Option<JoinHandle<()>>>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Store").field(&self.inner.path).finish()
    }
}

impl Store {
    /// Opens the database file `path`, making or upgrading it as needed. Hold the home's [`HomeLock`](super::HomeLock) before.
    ///
    /// After a stop that was not in order (or a change by other hands) the whole file is checked first.
    ///
    /// # Errors
    ///
    /// A damaged, foreign or newer database is refused and left untouched; so is a SQLite before 3.51.3.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        let opened = open::open(path).await.map_err(|error| error.at(path))?;
        let (jobs, inbox) = mpsc::channel(writer::INBOX);
        let writer = Writer {
            path: path.to_owned(),
            options: opened.options,
            db: Some(opened.writer),
        };
        Ok(Self {
            inner: Arc::new(Inner {
                path: path.to_owned(),
                jobs,
                readers: opened.readers,
                writer: Mutex::new(Some(tokio::spawn(writer.run(inbox)))),
            }),
        })
    }

    /// Finishes what waits, writes the log back into the database and closes it. Later calls get
    /// [`StoreError::Closed`]; closing twice is fine.
    pub async fn close(&self) {
        let writer = self
            .inner
            .writer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(writer) = writer else { return };
        self.inner.readers.close().await;
        // Refused only when the writer has ended already.
        let _ = self.inner.jobs.send(Message::Stop).await;
        if writer.await.is_ok() {
            open::mark_closed(&self.inner.path);
        }
    }

    /// The database file.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Copies the whole database, as it stands at one moment, into the new file `target`.
    ///
    /// # Errors
    ///
    /// When `target` exists or cannot be written.
    pub async fn backup(&self, target: &Path) -> Result<(), StoreError> {
        let mut db = self.reader().await?;
        open::vacuum_into(&mut db, target).await
    }

    /// Hands `script` to the writer; it is stored when this returns.
    ///
    /// Dropping the future does not take it back.
    pub(super) async fn run(&self, batch: Batch) -> Result<Outcome, StoreError> {
        self.hand_over_job(|reply| Box::new(Scripted::new(batch, reply)))
            .await
    }

    /// As [`Self::run`], for work of which a later step depends on what an earlier one found.
    pub(super) async fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut SqliteConnection) -> BoxFuture<'c, Result<T, StoreError>>
            + Send
            + 'static,
    {
        self.hand_over_job(|reply| Box::new(Stepped::new(work, reply)))
            .await
    }

    async fn hand_over_job<T>(
        &self,
        job: impl FnOnce(Reply<T>) -> Box<dyn Job>,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let message = Message::Job(job(reply));
        let sent = self.inner.jobs.send(message).await;
        sent.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// A connection that can only read. It sees everything that was stored before.
    pub(super) async fn reader(&self) -> Result<PoolConnection<Sqlite>, StoreError> {
        Ok(self.inner.readers.acquire().await?)
    }
}
