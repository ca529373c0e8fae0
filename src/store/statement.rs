//! A statement of SQL with its values, and what is read from its rows.
//!
//! Statements stay prepared in the connection that runs them, so the same text costs its compilation once.

use std::borrow::Cow;

use rusqlite::types::{FromSql, ToSqlOutput, Value};
use rusqlite::{CachedStatement, Connection, Row, ToSql, params_from_iter};

use super::codec::report_unreadable;
use super::error::StoreError;

/// It owns its values, so that it can be made by a caller and run by another thread.
#[must_use]
pub(super) struct Statement {
    text: Cow<'static, str>,
    values: Vec<Value>,
    fault: Option<StoreError>,
}

/// A statement without values yet; they follow with [`Statement::bind`].
pub(super) fn sql(text: impl Into<Cow<'static, str>>) -> Statement {
    Statement {
        text: text.into(),
        values: Vec::new(),
        fault: None,
    }
}

/// The first column of a row.
pub(super) fn scalar<T: FromSql>(row: &Row<'_>) -> Result<T, StoreError> {
    Ok(row.get(0)?)
}

impl Statement {
    /// The next value.
    pub(super) fn bind(mut self, value: impl ToSql) -> Self {
        self.push(value);
        self
    }

    /// [`Self::bind`] of a statement in its place.
    pub(super) fn push(&mut self, value: impl ToSql) {
        match owned(&value) {
            Ok(value) => self.values.push(value),
            Err(error) => self.fault = Some(error),
        }
    }

    /// Runs it and returns how many rows it changed.
    pub(super) fn execute(self, db: &Connection) -> Result<usize, StoreError> {
        self.each(db, |_| Ok(()))
    }

    /// What `read` makes of each of its rows.
    pub(super) fn all<T>(
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

    /// What `read` makes of its first row, if there is one.
    pub(super) fn first<T>(
        self,
        db: &Connection,
        read: impl FnOnce(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let mut statement = self.prepared(db)?;
        let mut rows = statement.query(params_from_iter(self.values))?;
        rows.next()?.map(read).transpose()
    }

    /// What `read` makes of its first row, of a statement that must give one.
    pub(super) fn one<T>(
        self,
        db: &Connection,
        read: impl FnOnce(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.first(db, read)?
            .ok_or_else(|| rusqlite::Error::QueryReturnedNoRows.into())
    }

    /// What `read` makes of each of its rows, which are of `table`. One that cannot be read is left out, and the log says
    /// which: it must not make the others unusable. `key` is the column that identifies the row.
    pub(super) fn readable<T>(
        self,
        db: &Connection,
        table: &str,
        key: &str,
        read: impl Fn(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let mut found = Vec::new();
        self.each(db, |row| {
            match read(row) {
                Ok(value) => found.push(value),
                Err(error) => report_unreadable(row, table, key, &error),
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Runs it to its end, calls `visit` with each row, and returns how many rows it changed, if it is of those that change
    /// any.
    pub(super) fn each(
        self,
        db: &Connection,
        mut visit: impl FnMut(&Row<'_>) -> Result<(), StoreError>,
    ) -> Result<usize, StoreError> {
        let mut statement = self.prepared(db)?;
        let mut rows = statement.query(params_from_iter(self.values))?;
        while let Some(row) = rows.next()? {
            visit(row)?;
        }
        drop(rows);
        Ok(usize::try_from(db.changes()).unwrap_or(usize::MAX))
    }

    fn prepared<'db>(&self, db: &'db Connection) -> Result<CachedStatement<'db>, StoreError> {
        match &self.fault {
            Some(fault) => Err(fault.clone()),
            None => Ok(db.prepare_cached(&self.text)?),
        }
    }
}

fn owned(value: &impl ToSql) -> Result<Value, StoreError> {
    match value.to_sql()? {
        ToSqlOutput::Owned(value) => Ok(value),
        ToSqlOutput::Borrowed(value) => Ok(value.try_into()?),
        other => Err(StoreError::bad_row(
            "a value to store",
            format!("{other:?}"),
        )),
    }
}
