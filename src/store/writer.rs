//! The one connection that writes, and its group commit.
//!
//! ```text
//! callers ──job──▶ inbox ──▶ run: BEGIN · each job in a savepoint · COMMIT ──result──▶ callers
//! ```
//!
//! Jobs that wait together share one transaction and so one fsync. A job that fails is undone alone; a disk that
//! fails undoes them all. Nobody hears of success before the commit. The task ends when it is told to stop or
//! when no [`Store`](super::Store) is left, after finishing what waits.

use std::path::PathBuf;

use futures_util::future::BoxFuture;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _};
use tokio::sync::{mpsc, oneshot};
use tracing::{error, warn};

use super::{DiskFault, StoreError};

/// Jobs that share one transaction at most: bounds how long the first waits for the last.
const MAX_BATCH: usize = 256;

/// Jobs that may wait before callers wait themselves.
pub(super) const INBOX: usize = 1024;

/// What the writer is sent.
pub(super) enum Message {
    /// Something to write.
    Job(Box<dyn Job>),
    /// Finish what waits, then end.
    Stop,
}

/// A piece of work within a transaction, and whoever waits for it.
pub(super) trait Job: Send {
    /// Does the work; an error means that it must be undone.
    fn run<'c>(&'c mut self, db: &'c mut SqliteConnection)
    -> BoxFuture<'c, Result<(), StoreError>>;

    /// Tells the waiting caller, after the transaction has ended so.
    fn settle(self: Box<Self>, transaction: Result<(), StoreError>);
}

/// The usual job: a closure and the way back to its caller.
pub(super) struct Task<T, F> {
    work: Option<F>,
    result: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Task<T, F> {
    pub(super) const fn new(work: F, reply: oneshot::Sender<Result<T, StoreError>>) -> Self {
        Self {
            work: Some(work),
            result: None,
            reply,
        }
    }
}

impl<T, F> Job for Task<T, F>
where
    T: Send + 'static,
    F: for<'c> FnOnce(&'c mut SqliteConnection) -> BoxFuture<'c, Result<T, StoreError>> + Send,
{
    fn run<'c>(
        &'c mut self,
        db: &'c mut SqliteConnection,
    ) -> BoxFuture<'c, Result<(), StoreError>> {
        Box::pin(async move {
            let Some(work) = self.work.take() else {
                return Ok(());
            };
            let result = work(db).await;
            let outcome = result.as_ref().map(|_| ()).map_err(Clone::clone);
            self.result = Some(result);
            outcome
        })
    }

    fn settle(self: Box<Self>, transaction: Result<(), StoreError>) {
        let result = match (self.result, transaction) {
            (Some(Err(own)), _) => Err(own),
            (_, Err(shared)) => Err(shared),
            (Some(Ok(value)), Ok(())) => Ok(value),
            (None, Ok(())) => Err(StoreError::Closed),
        };
        // A caller that went away meanwhile has no use for the answer; what it asked for is stored all the same.
        let _ = self.reply.send(result);
    }
}

/// The writing end: a connection that is opened anew after the disk has failed.
pub(super) struct Writer {
    pub(super) path: PathBuf,
    pub(super) options: SqliteConnectOptions,
    pub(super) db: Option<SqliteConnection>,
}

impl Writer {
    /// Works until told to stop, then closes the connection, which writes the log back into the database.
    pub(super) async fn run(mut self, mut inbox: mpsc::Receiver<Message>) {
        let mut messages = Vec::with_capacity(MAX_BATCH);
        while inbox.recv_many(&mut messages, MAX_BATCH).await > 0 {
            let mut jobs = Vec::with_capacity(messages.len());
            for message in messages.drain(..) {
                match message {
                    Message::Job(job) => jobs.push(job),
                    Message::Stop => inbox.close(),
                }
            }
            self.commit(jobs).await;
        }
        if let Some(db) = self.db.take()
            && let Err(error) = db.close().await
        {
            warn!("the database was not closed in order: {error}");
        }
    }

    async fn commit(&mut self, mut jobs: Vec<Box<dyn Job>>) {
        if jobs.is_empty() {
            return;
        }
        let end = match self.connection().await {
            Ok(db) => transact(db, &mut jobs).await,
            Err(error) => Err(error),
        };
        let end = end.map_err(|error| error.at(&self.path));
        if let Err(error) = &end {
            error!("{} writes failed: {error}", jobs.len());
            self.after_failure(error).await;
        }
        for job in jobs {
            job.settle(end.clone());
        }
    }

    async fn connection(&mut self) -> Result<&mut SqliteConnection, StoreError> {
        let db = match self.db.take() {
            Some(db) => db,
            None => self.options.connect().await?,
        };
        Ok(self.db.insert(db))
    }

    /// After a failed fsync the system's cache may not hold what the disk holds: read everything anew.
    async fn after_failure(&mut self, error: &StoreError) {
        let distrust = matches!(
            error,
            StoreError::Disk {
                fault: DiskFault::Io,
                ..
            } | StoreError::Closed
        );
        if distrust && let Some(db) = self.db.take() {
            // It has failed already; what closing adds to that helps nobody.
            let _ = db.close().await;
        }
    }
}

/// Runs `jobs` in one transaction. An error means that none of them is stored.
async fn transact(db: &mut SqliteConnection, jobs: &mut [Box<dyn Job>]) -> Result<(), StoreError> {
    sqlx::query("BEGIN IMMEDIATE").execute(&mut *db).await?;
    let end = match jobs {
        [job] => alone(db, job.as_mut()).await,
        jobs => each_in_savepoint(db, jobs).await,
    };
    if end.is_err() {
        roll_back(db).await;
    }
    end
}

/// The whole transaction is this job's: no savepoint is needed.
async fn alone(db: &mut SqliteConnection, job: &mut dyn Job) -> Result<(), StoreError> {
    match job.run(db).await {
        Ok(()) => commit(db).await,
        Err(error) if error.ends_transaction() => Err(error),
        Err(_) => {
            // Its caller has the error; for the writer nothing failed.
            roll_back(db).await;
            Ok(())
        }
    }
}

async fn each_in_savepoint(
    db: &mut SqliteConnection,
    jobs: &mut [Box<dyn Job>],
) -> Result<(), StoreError> {
    for job in jobs {
        sqlx::query("SAVEPOINT job").execute(&mut *db).await?;
        match job.run(db).await {
            Ok(()) => {}
            Err(error) if error.ends_transaction() => return Err(error),
            Err(_) => {
                sqlx::query("ROLLBACK TO job").execute(&mut *db).await?;
            }
        }
        sqlx::query("RELEASE job").execute(&mut *db).await?;
    }
    commit(db).await
}

async fn commit(db: &mut SqliteConnection) -> Result<(), StoreError> {
    sqlx::query("COMMIT").execute(db).await?;
    Ok(())
}

/// SQLite may have rolled back by itself after a fault; then this is refused, and that is fine.
async fn roll_back(db: &mut SqliteConnection) {
    let _ = sqlx::query("ROLLBACK").execute(db).await;
}
