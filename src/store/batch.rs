//! Statements that go to SQLite together.
//!
//! A connection of sqlx is a thread of its own, so a small statement costs little compared with the way to that thread and
//! back. A batch goes that way once for all of its statements, `BEGIN` and `COMMIT` included
//! (`docs/decisions/0607-statements-go-together.md`).

use futures_util::TryStreamExt as _;
use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteConnection, SqliteRow};
use sqlx::{Arguments as _, AssertSqlSafe, Either, Encode, Executor as _, Type};

use super::durability::Durability;
use super::error::StoreError;

/// Fails when the statement before it changed no row. SQLite has no assertion outside of a trigger; a function that refuses
/// its argument ends a batch as well. It returns no row, because each row wakes the task that waits for the batch.
const ASSERTION: &str = "SELECT 1 WHERE json(iif(changes(), '0', ''))";

/// Statements to run one after another: all of them take effect, or none.
#[derive(Default)]
pub(super) struct Batch {
    sql: String,
    arguments: SqliteArguments,
    fault: Option<StoreError>,
    parts: Vec<Part>,
    durability: Durability,
}

/// One element of a batch.
enum Part {
    Statement,
    /// The statement before it must have changed a row of this.
    Assertion(String),
    /// It belongs to the frame.
    Frame,
}

#[derive(Default)]
pub(super) struct Outcome {
    /// The rows that its statements gave, in order.
    pub(super) rows: Vec<SqliteRow>,
    /// How many rows each statement changed; of use for those that change any.
    pub(super) changed: Vec<u64>,
}

impl Outcome {
    /// The first row, of a batch that must give one.
    pub(super) fn row(&self) -> Result<&SqliteRow, StoreError> {
        self.rows
            .first()
            .ok_or_else(|| sqlx::Error::RowNotFound.into())
    }
}

/// The statements before and after the work of one job, and those that undo it.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub(super) begin: &'static str,
    /// Number of statements in `begin`.
    pub(super) begins: usize,
    pub(super) end: &'static str,
    pub(super) undo: &'static str,
}

impl Batch {
    /// Adds a statement. Its values follow with [`Self::bind`], each for a plain `?`.
    pub(super) fn add(&mut self, statement: &'static str) -> &mut Self {
        self.write(statement);
        self.parts.push(Part::Statement);
        self
    }

    /// The next value of the statement added last.
    pub(super) fn bind<'v>(&mut self, value: impl Encode<'v, Sqlite> + Type<Sqlite>) -> &mut Self {
        if let Err(error) = self.arguments.add(value) {
            self.fault = Some(sqlx::Error::Encode(error).into());
        }
        self
    }

    /// Makes the batch fail with [`StoreError::NotFound`] when the statement added last changes nothing.
    pub(super) fn must_change(&mut self, what: impl Into<String>) -> &mut Self {
        self.write(ASSERTION);
        self.parts.push(Part::Assertion(what.into()));
        self
    }

    /// Makes the commit not wait for the disk.
    pub(super) const fn unsynced(mut self) -> Self {
        self.durability = Durability::Written;
        self
    }

    pub(super) const fn durability(&self) -> Durability {
        self.durability
    }

    fn write(&mut self, statement: &str) {
        self.sql.push_str(statement);
        self.sql.push(';');
    }

    /// Runs it within an open transaction.
    pub(super) async fn run(self, db: &mut SqliteConnection) -> Result<Outcome, StoreError> {
        match self.fault {
            Some(fault) => Err(fault),
            None => execute(db, self.sql, self.arguments, &self.parts)
                .await
                .map_err(|failed| failed.error),
        }
    }

    /// Runs it within `frame`. The outer error ends the transaction around it; the inner one is the batch's own, whose
    /// changes are undone.
    pub(super) async fn run_framed(
        self,
        db: &mut SqliteConnection,
        frame: Frame,
    ) -> Result<Result<Outcome, StoreError>, StoreError> {
        if let Some(fault) = self.fault {
            return Ok(Err(fault));
        }
        let sql = format!("{};{}{}", frame.begin, self.sql, frame.end);
        let mut parts: Vec<Part> = std::iter::repeat_with(|| Part::Frame)
            .take(frame.begins)
            .collect();
        parts.extend(self.parts);
        parts.push(Part::Frame);
        match execute(db, sql, self.arguments, &parts).await {
            Ok(outcome) => Ok(Ok(outcome)),
            Err(failed) if failed.error.ends_transaction() => Err(failed.error),
            Err(failed) if matches!(parts.get(failed.at), Some(Part::Frame)) => Err(failed.error),
            Err(failed) => {
                sqlx::query(frame.undo).execute(db).await?;
                Ok(Err(failed.error))
            }
        }
    }
}

/// Why a batch ended early.
struct Failed {
    at: usize,
    error: StoreError,
}

async fn execute(
    db: &mut SqliteConnection,
    sql: String,
    arguments: SqliteArguments,
    parts: &[Part],
) -> Result<Outcome, Failed> {
    let mut outcome = Outcome::default();
    let mut at = 0;
    let mut results = db.fetch_many(sqlx::query_with(AssertSqlSafe(sql), arguments));
    loop {
        match (results.try_next().await, parts.get(at)) {
            (Ok(None), _) => return Ok(outcome),
            (Ok(Some(Either::Left(done))), part) => {
                if let Some(Part::Statement) = part {
                    outcome.changed.push(done.rows_affected());
                }
                at += 1;
            }
            (Ok(Some(Either::Right(row))), Some(Part::Statement)) => outcome.rows.push(row),
            (Ok(Some(Either::Right(_))), _) => {}
            (Err(error), part) => {
                let error = match (StoreError::from(error), part) {
                    (StoreError::Query(_), Some(Part::Assertion(what))) => {
                        StoreError::NotFound(what.clone())
                    }
                    (error, _) => error,
                };
                return Err(Failed { at, error });
            }
        }
    }
}
