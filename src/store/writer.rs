//! The one connection that writes, on a thread of its own, and its group commit.
//!
//! ```text
//! callers ──job──▶ inbox ──▶ run: BEGIN · each job in a savepoint · COMMIT ──result──▶ callers
//! ```
//!
//! Jobs that wait together share one transaction and so one fsync. A job that fails is undone alone; a failing disk undoes
//! them all. Success is reported only after the commit. The thread ends when it is told to stop or when no
//! [`Store`](super::Store) is left, after finishing what waits.

use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;

use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};
use tracing::{error, warn};

use super::durability::Durability;
use super::error::{DiskFault, StoreError};
use super::open;

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

    /// Does the work within a transaction. An error ends the transaction; an error of the work itself is for its caller.
    fn run(&mut self, db: &Connection) -> Result<Done, StoreError>;

    /// Answers the waiting caller, after the transaction has ended.
    fn settle(self: Box<Self>, transaction: Result<(), StoreError>);
}

/// What becomes of the changes of a job.
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
    F: FnOnce(&Connection) -> Result<T, StoreError> + Send,
{
    fn durability(&self) -> Durability {
        self.durability
    }

    fn run(&mut self, db: &Connection) -> Result<Done, StoreError> {
        let Some(work) = self.work.take() else {
            return Ok(Done::Keep);
        };
        // A mistake in it must not end the thread that everybody's writes need.
        let result = panic::catch_unwind(AssertUnwindSafe(|| work(db)));
        let result = result.unwrap_or(Err(StoreError::Broken));
        let done = match &result {
            Err(error) if error.ends_transaction() => return Err(error.clone()),
            Err(_) => Done::Undo,
            Ok(_) => Done::Keep,
        };
        self.result = Some(result);
        Ok(done)
    }

    fn settle(self: Box<Self>, transaction: Result<(), StoreError>) {
        let result = match (self.result, transaction) {
            (Some(Err(own)), _) => Err(own),
            (_, Err(shared)) => Err(shared),
            (Some(Ok(value)), Ok(())) => Ok(value),
            (None, Ok(())) => Err(StoreError::Closed),
        };
        // A caller that is gone does not need the answer; what it asked for is stored nevertheless.
        let _ = self.reply.send(result);
    }
}

/// The writing side: a connection that is opened again after the disk has failed.
pub(super) struct Writer {
    pub(super) path: PathBuf,
    pub(super) db: Option<Connection>,
    /// What commits of `db` wait for with its present setting; `None` where that is not known.
    pub(super) level: Option<Durability>,
}

impl Writer {
    /// Works until told to stop, then closes the connection, which writes the log back into the database.
    pub(super) fn run(mut self, mut inbox: mpsc::Receiver<Message>) {
        let mut messages = Vec::with_capacity(MAX_BATCH);
        while inbox.blocking_recv_many(&mut messages, MAX_BATCH) > 0 {
            let mut jobs = Vec::with_capacity(messages.len());
            for message in messages.drain(..) {
                match message {
                    Message::Job(job) => jobs.push(job),
                    Message::Stop => inbox.close(),
                }
            }
            self.commit(jobs);
        }
        match self.db.take().map(Connection::close) {
            Some(Ok(())) => open::mark_closed(&self.path),
            Some(Err((_, error))) => warn!("failed to close the database: {error}"),
            None => {}
        }
    }

    fn commit(&mut self, mut jobs: Vec<Box<dyn Job>>) {
        if jobs.is_empty() {
            return;
        }
        let end = self.transact(&mut jobs);
        let end = end.map_err(|error| error.at(&self.path));
        if let Err(error) = &end {
            error!("failed to commit {} writes: {error}", jobs.len());
            self.after_failure(error);
        }
        for job in jobs {
            job.settle(end.clone());
        }
    }

    fn transact(&mut self, jobs: &mut [Box<dyn Job>]) -> Result<(), StoreError> {
        let durability = Durability::of_all(jobs.iter().map(|job| job.durability()));
        let level = self.level.take();
        let db = self.connection()?;
        if level != Some(durability) {
            db.pragma_update(None, "synchronous", durability.synchronous())?;
        }
        transact(db, jobs)?;
        self.level = Some(durability);
        Ok(())
    }

    fn connection(&mut self) -> Result<&mut Connection, StoreError> {
        let db = match self.db.take() {
            Some(db) => db,
            None => open::connect_writer(&self.path)?,
        };
        Ok(self.db.insert(db))
    }

    /// After a failed fsync the system's cache may differ from the disk: read everything again.
    fn after_failure(&mut self, error: &StoreError) {
        let distrust = matches!(
            error,
            StoreError::Disk {
                fault: DiskFault::Io,
                ..
            } | StoreError::Closed
        );
        if distrust {
            // It has failed already; a further error of closing does not help.
            self.db = None;
        }
    }
}

/// Runs `jobs` in one transaction. An error means that none of them is stored.
fn transact(db: &mut Connection, jobs: &mut [Box<dyn Job>]) -> Result<(), StoreError> {
    let mut transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    match jobs {
        [job] => {
            if job.run(&transaction)? == Done::Undo {
                return Ok(transaction.rollback()?);
            }
        }
        jobs => {
            for job in jobs {
                let savepoint = transaction.savepoint()?;
                match job.run(&savepoint)? {
                    Done::Keep => savepoint.commit()?,
                    Done::Undo => savepoint.finish()?,
                }
            }
        }
    }
    Ok(transaction.commit()?)
}
