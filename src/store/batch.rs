//! Statements that are known before the first of them runs.
//!
//! They are made where their values are, and run by the writer's thread, which is gone to once for all of them
//! (`docs/decisions/0607-statements-go-together.md`).

use rusqlite::{Connection, Row, ToSql};

use super::durability::Durability;
use super::error::StoreError;
use super::statement::{Statement, sql};

/// Statements to run one after another within a transaction: all of them take effect, or none.
#[derive(Default)]
pub(super) struct Batch {
    steps: Vec<Step>,
    durability: Durability,
}

struct Step {
    statement: Statement,
    /// What there must be: the statement must change a row.
    must_change: Option<String>,
}

impl Batch {
    /// Adds a statement. Its values follow with [`Self::bind`], each for a plain `?`.
    pub(super) fn add(&mut self, text: &'static str) -> &mut Self {
        self.steps.push(Step {
            statement: sql(text),
            must_change: None,
        });
        self
    }

    /// The next value of the statement added last.
    pub(super) fn bind(&mut self, value: impl ToSql) -> &mut Self {
        if let Some(last) = self.steps.last_mut() {
            last.statement.push(value);
        }
        self
    }

    /// Makes the batch fail with [`StoreError::NotFound`] when the statement added last changes nothing.
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

    /// Runs it within an open transaction. Returns how many rows each statement changed; of use for those that change any.
    pub(super) fn run(self, db: &Connection) -> Result<Vec<usize>, StoreError> {
        self.each(db, |_| Ok(()))
    }

    /// Runs it within an open transaction. Returns what `read` makes of the rows that its statements give, in order.
    pub(super) fn rows<T>(
        self,
        db: &Connection,
        mut read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let mut found = Vec::new();
        self.each(db, |row| {
            found.push(read(row)?);
            Ok(())
        })?;
        Ok(found)
    }

    fn each(
        self,
        db: &Connection,
        mut visit: impl FnMut(&Row<'_>) -> Result<(), StoreError>,
    ) -> Result<Vec<usize>, StoreError> {
        let run = |step: Step| {
            let changed = step.statement.each(db, &mut visit)?;
            match step.must_change {
                Some(what) if changed == 0 => Err(StoreError::NotFound(what)),
                _ => Ok(changed),
            }
        };
        self.steps.into_iter().map(run).collect()
    }
}
