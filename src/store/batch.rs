//! Statements that are known before the first of them runs.
//!
//! They are built where their values are, and passed to the writer's task together.

use sqlx::query::{Map, Query};
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{Sqlite, SqliteConnection};

use super::durability::Durability;
use super::error::StoreError;
use super::statement::{Statement, checked};

/// Statements to run one after another within a transaction: all of them take effect, or none.
#[derive(Default)]
pub(super) struct Batch {
    steps: Vec<Step>,
    durability: Durability,
}

/// One statement of a batch.
pub(super) struct Step {
    statement: Statement,
    gives: Gives,
    /// The required result: the statement must change a row, or give one.
    must_change: Option<String>,
}

/// The result of a statement.
#[derive(Clone, Copy)]
enum Gives {
    /// The number of changed rows.
    Count,
    Rows,
}

/// A statement without rows, as `query!` makes it.
impl From<Query<'static, Sqlite, SqliteArguments>> for Step {
    fn from(query: Query<'static, Sqlite, SqliteArguments>) -> Self {
        Self {
            statement: checked(query),
            gives: Gives::Count,
            must_change: None,
        }
    }
}

/// A statement with rows, as `query!` makes it.
impl<F: Send> From<Map<'static, Sqlite, F, SqliteArguments>> for Step {
    fn from(query: Map<'static, Sqlite, F, SqliteArguments>) -> Self {
        checked(query).into()
    }
}

/// A statement with rows.
impl From<Statement> for Step {
    fn from(statement: Statement) -> Self {
        Self {
            statement,
            gives: Gives::Rows,
            must_change: None,
        }
    }
}

impl Batch {
    /// Adds a statement.
    pub(super) fn add(&mut self, step: impl Into<Step>) -> &mut Self {
        self.steps.push(step.into());
        self
    }

    /// Makes the batch fail with [`StoreError::NotFound`] if the statement added last changes nothing.
    pub(super) fn must_change(&mut self, what: impl Into<String>) -> &mut Self {
        if let Some(last) = self.steps.last_mut() {
            last.must_change = Some(what.into());
        }
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

    /// Runs it within an open transaction. Returns how many rows each statement changed or gave.
    pub(super) async fn run(self, db: &mut SqliteConnection) -> Result<Vec<u64>, StoreError> {
        self.each(db, |_| Ok(())).await
    }

    /// Runs it within an open transaction. Returns the results of `read` for the rows of its statements, in order.
    pub(super) async fn rows<T>(
        self,
        db: &mut SqliteConnection,
        mut read: impl FnMut(&SqliteRow) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let mut found = Vec::new();
        self.each(db, |row| {
            found.push(read(row)?);
            Ok(())
        })
        .await?;
        Ok(found)
    }

    async fn each(
        self,
        db: &mut SqliteConnection,
        mut visit: impl FnMut(&SqliteRow) -> Result<(), StoreError>,
    ) -> Result<Vec<u64>, StoreError> {
        let mut counts = Vec::with_capacity(self.steps.len());
        for step in self.steps {
            let count = match step.gives {
                Gives::Count => step.statement.execute(db).await?,
                Gives::Rows => {
                    let rows = step.statement.rows(db).await?;
                    rows.iter().try_for_each(&mut visit)?;
                    rows.len() as u64
                }
            };
            match step.must_change {
                Some(what) if count == 0 => return Err(StoreError::NotFound(what)),
                _ => counts.push(count),
            }
        }
        Ok(counts)
    }
}
