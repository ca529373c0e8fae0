//! The one connection that writes, and its group commit.
//!
//! ```text
//! callers ──job──▶ inbox ──▶ run: BEGIN · each job in a savepoint · COMMIT ──result──▶ callers
//! ```
//!
//! A job is a [`Batch`], or a closure where what is written next depends on what was found. A job that waits alone has a
//! transaction of its own: a batch is then a single trip to SQLite's thread and back.
//!
//! Jobs that wait together share one transaction and so one fsync. A job that fails is undone alone; a failing disk undoes
//! them all. Success is reported only after the commit. The task ends when it is told to stop or when no
//! [`Store`](super::Store) is left, after finishing what waits.

use std::path::PathBuf;

use futures_util::future::BoxFuture;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _};
use tokio::sync::{mpsc, oneshot};
use tracing::{error, warn};

use super::batch::{Batch, Frame, Outcome};
use super::durability::{Durability, Opening};
use super::error::{DiskFault, StoreError};

/// Most jobs that share one transaction: bounds how long the first waits for the last.
const MAX_BATCH: usize = 256;

/// Jobs that may wait before callers wait themselves.
pub(super) const INBOX: usize = 1024;

/// What the writer is sent.
pub(super) enum Message {
    Job(Box<dyn Job>),
    /// Finish what waits, then end.
    Stop,
}

/// A piece of work within a transaction, and the caller that waits for it.
pub(super) trait Job: Send {
    /// What its caller waits for.
    fn durability(&self) -> Durability;

    /// Does the work within `frame`. An error ends the transaction around it; an error of the work itself is for its
    /// caller, and the work has been undone.
    fn run<'c>(
        &'c mut self,
        db: &'c mut SqliteConnection,
        frame: Frame,
    ) -> BoxFuture<'c, Result<(), StoreError>>;

    /// Answers the waiting caller, after the transaction has ended.
    fn settle(self: Box<Self>, transaction: Result<(), StoreError>);
}

/// Sends the result to a job's caller.
pub(super) type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

fn answer<T>(
    reply: Reply<T>,
    own: Option<Result<T, StoreError>>,
    transaction: Result<(), StoreError>,
) {
    let result = match (own, transaction) {
        (Some(Err(own)), _) => Err(own),
        (_, Err(shared)) => Err(shared),
        (Some(Ok(value)), Ok(())) => Ok(value),
        (None, Ok(())) => Err(StoreError::Closed),
    };
    // A caller that is gone does not need the answer; what it asked for is stored nevertheless.
    let _ = reply.send(result);
}

/// A job whose statements are known beforehand.
pub(super) struct Scripted {
    batch: Option<Batch>,
    result: Option<Result<Outcome, StoreError>>,
    reply: Reply<Outcome>,
}

impl Scripted {
    pub(super) const fn new(batch: Batch, reply: Reply<Outcome>) -> Self {
        Self {
            batch: Some(batch),
            result: None,
            reply,
        }
    }
}

impl Job for Scripted {
    fn durability(&self) -> Durability {
        self.batch
            .as_ref()
            .map(Batch::durability)
            .unwrap_or_default()
    }

    fn run<'c>(
        &'c mut self,
        db: &'c mut SqliteConnection,
        frame: Frame,
    ) -> BoxFuture<'c, Result<(), StoreError>> {
        Box::pin(async move {
            if let Some(batch) = self.batch.take() {
                self.result = Some(batch.run_framed(db, frame).await?);
            }
            Ok(())
        })
    }

    fn settle(self: Box<Self>, transaction: Result<(), StoreError>) {
        answer(self.reply, self.result, transaction);
    }
}

/// A job of steps, each of which may depend on what the one before it found.
pub(super) struct Stepped<T, F> {
    work: Option<F>,
    result: Option<Result<T, StoreError>>,
    reply: Reply<T>,
}

impl<T, F> Stepped<T, F> {
    pub(super) const fn new(work: F, reply: Reply<T>) -> Self {
        Self {
            work: Some(work),
            result: None,
            reply,
        }
    }
}

impl<T, F> Job for Stepped<T, F>
where
    T: Send + 'static,
    F: for<'c> FnOnce(&'c mut SqliteConnection) -> BoxFuture<'c, Result<T, StoreError>> + Send,
{
    fn durability(&self) -> Durability {
        Durability::Synced
    }

    fn run<'c>(
        &'c mut self,
        db: &'c mut SqliteConnection,
        frame: Frame,
    ) -> BoxFuture<'c, Result<(), StoreError>> {
        Box::pin(async move {
            let Some(work) = self.work.take() else {
                return Ok(());
            };
            sqlx::query(frame.begin).execute(&mut *db).await?;
            let result = work(db).await;
            let last = match &result {
                Ok(_) => frame.end,
                Err(error) if error.ends_transaction() => return Err(error.clone()),
                Err(_) => frame.undo,
            };
            self.result = Some(result);
            sqlx::query(last).execute(db).await?;
            Ok(())
        })
    }

    fn settle(self: Box<Self>, transaction: Result<(), StoreError>) {
        answer(self.reply, self.result, transaction);
    }
}

/// The writing side: a connection that is opened again after the disk has failed.
pub(super) struct Writer {
    pub(super) path: PathBuf,
    pub(super) options: SqliteConnectOptions,
    pub(super) db: Option<SqliteConnection>,
    /// What commits of `db` wait for with its present setting; `None` after a failure.
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
        if let Some(db) = self.db.take()
            && let Err(error) = db.close().await
        {
            warn!("failed to close the database: {error}");
        }
    }

    async fn commit(&mut self, mut jobs: Vec<Box<dyn Job>>) {
        if jobs.is_empty() {
            return;
        }
        let durability = Durability::of_all(jobs.iter().map(|job| job.durability()));
        let opening = durability.opening(self.level.take());
        let end = match self.connection().await {
            Ok(db) => transact(db, opening, &mut jobs).await,
            Err(error) => Err(error),
        };
        if end.is_ok() {
            self.level = Some(durability);
        }
        let end = end.map_err(|error| error.at(&self.path));
        if let Err(error) = &end {
            error!("failed to commit {} writes: {error}", jobs.len());
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

    /// After a failed fsync the system's cache may differ from the disk: read everything again.
    async fn after_failure(&mut self, error: &StoreError) {
        let distrust = matches!(
            error,
            StoreError::Disk {
                fault: DiskFault::Io,
                ..
            } | StoreError::Closed
        );
        if distrust && let Some(db) = self.db.take() {
            // It has failed already; a further error of closing does not help.
            let _ = db.close().await;
        }
    }
}

/// A job among others.
const AMONG: Frame = Frame {
    begin: "SAVEPOINT job",
    begins: 1,
    end: "RELEASE job",
    undo: "ROLLBACK TO job; RELEASE job",
};

const COMMIT: &str = "COMMIT";
const ROLLBACK: &str = "ROLLBACK";

/// Runs `jobs` in one transaction. An error means that none of them is stored.
async fn transact(
    db: &mut SqliteConnection,
    opening: Opening,
    jobs: &mut [Box<dyn Job>],
) -> Result<(), StoreError> {
    let end = match jobs {
        [job] => job.run(db, alone(opening)).await,
        jobs => together(db, opening, jobs).await,
    };
    if end.is_err() {
        // SQLite may have rolled back already after an error; then this is refused, which is fine.
        let _ = sqlx::query(ROLLBACK).execute(db).await;
    }
    end
}

/// The frame of a job that has a transaction of its own.
const fn alone((begin, begins): Opening) -> Frame {
    Frame {
        begin,
        begins,
        end: COMMIT,
        undo: ROLLBACK,
    }
}

async fn together(
    db: &mut SqliteConnection,
    (begin, _): Opening,
    jobs: &mut [Box<dyn Job>],
) -> Result<(), StoreError> {
    sqlx::query(begin).execute(&mut *db).await?;
    for job in jobs {
        job.run(db, AMONG).await?;
    }
    sqlx::query(COMMIT).execute(db).await?;
    Ok(())
}
