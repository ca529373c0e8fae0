//! The only connection that writes, in its own task, and its group commit.
//!
//! ```text
//! callers ──job──▶ inbox ──▶ run: BEGIN · each job in a savepoint · COMMIT ──result──▶ callers
//! ```
//!
//! Jobs that wait together share one transaction and so one fsync. A job that fails is undone by itself; a failing disk
//! undoes them all. Success is reported only after the commit. The task ends when it receives a stop or when no
//! [`Store`](super::Store) is left, after finishing the waiting jobs.

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use sqlx::{Connection as _, SqliteConnection};
use tokio::sync::{mpsc, oneshot};
use tracing::{error, warn};

use super::durability::Durability;
use super::error::StoreError;
use super::open;
use super::statement::sql;

/// Most jobs that share one transaction: bounds how long the first waits for the last.
const MAX_BATCH: usize = 256;

/// Jobs that may wait before callers wait themselves.
pub(super) const INBOX: usize = 1024;

/// A message to the writer.
pub(super) enum Message {
    Job(Box<dyn Job>),
    /// Finish the waiting jobs, then end.
    Stop,
}

/// A piece of work within a transaction, and the caller that waits for it.
pub(super) trait Job: Send {
    /// Returns the durability that its caller waits for.
    fn durability(&self) -> Durability;

    /// Does the work within a transaction. An error ends the transaction; an error of the work itself is for its caller.
    fn run<'c>(
        &'c mut self,
        db: &'c mut SqliteConnection,
    ) -> BoxFuture<'c, Result<Done, StoreError>>;

    /// Answers the waiting caller, after the transaction has ended.
    fn settle(self: Box<Self>, transaction: Result<(), StoreError>);
}

/// What happens to the changes of a job.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Done {
    Keep,
    Undo,
}

/// Sends the result to a job's caller.
pub(super) type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

/// A job that runs the function `F`.
pub(super) struct Work<T, F> {
    work: Option<F>,
    durability: Durability,
    result: Option<Result<T, StoreError>>,
    reply: Reply<T>,
}

impl<T, F> Work<T, F> {
    pub(super) const fn new(work: F, durability: Durability, reply: Reply<T>) -> Self {
        Self {
            work: Some(work),
            durability,
            result: None,
            reply,
        }
    }
}

impl<T, F> Job for Work<T, F>
where
    T: Send,
    F: for<'c> FnOnce(&'c mut SqliteConnection) -> BoxFuture<'c, Result<T, StoreError>> + Send,
{
    fn durability(&self) -> Durability {
        self.durability
    }

    fn run<'c>(
        &'c mut self,
        db: &'c mut SqliteConnection,
    ) -> BoxFuture<'c, Result<Done, StoreError>> {
        Box::pin(async move {
            let Some(work) = self.work.take() else {
                return Ok(Done::Keep);
            };
            // A mistake in it must not end the task, which all writes need.
            let result = AssertUnwindSafe(async move { work(db).await })
                .catch_unwind()
                .await;
            let result = result.unwrap_or(Err(StoreError::Broken));
            let done = match &result {
                Err(error) if error.ends_transaction() => return Err(error.clone()),
                Err(_) => Done::Undo,
                Ok(_) => Done::Keep,
            };
            self.result = Some(result);
            Ok(done)
        })
    }

    fn settle(self: Box<Self>, transaction: Result<(), StoreError>) {
        let result = match (self.result, transaction) {
            (Some(Err(own)), _) => Err(own),
            (_, Err(shared)) => Err(shared),
            (Some(Ok(value)), Ok(())) => Ok(value),
            (None, Ok(())) => Err(StoreError::Closed),
        };
        // A caller that is gone does not need the answer; its data is stored anyway.
        let _ = self.reply.send(result);
    }
}

/// The writing side: a connection that is opened again after the disk has failed.
pub(super) struct Writer {
    pub(super) path: PathBuf,
    pub(super) db: Option<SqliteConnection>,
    /// The event that commits of `db` wait for with its present setting; `None` if that is not known.
    pub(super) level: Option<Durability>,
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
        let Some(db) = self.db.take() else { return };
        match db.close().await {
            Ok(()) => open::mark_closed(&self.path).await,
            Err(error) => warn!("failed to close the database: {error}"),
        }
    }

    async fn commit(&mut self, mut jobs: Vec<Box<dyn Job>>) {
        if jobs.is_empty() {
            return;
        }
        let end = self.transact(&mut jobs).await;
        let end = end.map_err(|error| error.at(&self.path));
        if let Err(error) = &end {
            error!("failed to commit {} writes: {error}", jobs.len());
        }
        for job in jobs {
            job.settle(end.clone());
        }
    }

    async fn transact(&mut self, jobs: &mut [Box<dyn Job>]) -> Result<(), StoreError> {
        let durability = Durability::of_all(jobs.iter().map(|job| job.durability()));
        let level = self.level.take();
        let mut db = self.connection().await?;
        if level != Some(durability) {
            // No macro describes a pragma.
            sql(durability.pragma()).execute(&mut db).await?;
        }
        if let Err(error) = transact(&mut db, jobs).await {
            // SQLite may have ended the transaction, and after a failed fsync the system's cache may differ from the
            // disk: read everything again. The transaction has already failed; a further error of closing does not
            // help.
            let _ = db.close().await;
            return Err(error);
        }
        self.db = Some(db);
        self.level = Some(durability);
        Ok(())
    }

    async fn connection(&mut self) -> Result<SqliteConnection, StoreError> {
        match self.db.take() {
            Some(db) => Ok(db),
            None => open::connect_writer(&self.path).await,
        }
    }
}

/// Runs `jobs` in one transaction. An error means that none of them is stored.
async fn transact(db: &mut SqliteConnection, jobs: &mut [Box<dyn Job>]) -> Result<(), StoreError> {
    let mut transaction = db.begin_with("BEGIN IMMEDIATE").await?;
    match jobs {
        [job] => {
            if job.run(&mut transaction).await? == Done::Undo {
                return Ok(transaction.rollback().await?);
            }
        }
        jobs => {
            for job in jobs {
                let mut savepoint = transaction.begin().await?;
                match job.run(&mut savepoint).await? {
                    Done::Keep => savepoint.commit().await?,
                    Done::Undo => savepoint.rollback().await?,
                }
            }
        }
    }
    Ok(transaction.commit().await?)
}
