//! A statement of SQL with its values, and the reading of its rows.
//!
//! Statements stay prepared in the connection that runs them, so the same text is compiled only once.

use futures_util::TryStreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{
    AssertSqlSafe, Decode, Encode, Execute, Row as _, SqlSafeStr as _, Sqlite, SqliteConnection,
    Type,
};

use super::codec::report_unreadable;
use super::error::StoreError;

/// The result of a statement. Boxed: once it is nested in others, the compiler cannot show that the future of a
/// function over closures of any lifetime may be sent to another thread.
pub(super) type Found<'c, T> = BoxFuture<'c, Result<T, StoreError>>;

/// A statement that owns its values, so that a caller can create it and another task run it.
#[must_use]
pub(super) struct Statement {
    query: Query<'static, Sqlite, SqliteArguments>,
    fault: Option<StoreError>,
}

/// Takes a statement that one of the macros of sqlx checked at compile time.
pub(super) fn checked(query: impl Execute<'static, Sqlite>) -> Statement {
    let mut query = query;
    match query.take_arguments() {
        Ok(values) => Statement {
            query: sqlx::query_with(query.sql(), values.unwrap_or_default()),
            fault: None,
        },
        Err(error) => Statement {
            query: sqlx::query_with(query.sql(), SqliteArguments::default()),
            fault: Some(StoreError::bad_row("a value to store", error)),
        },
    }
}

/// Creates a statement that is built at run time, so that no macro can check it. Its values follow with
/// [`Statement::bind`]. No part of `text` may come from outside of this module.
pub(super) fn sql(text: impl Into<String>) -> Statement {
    Statement {
        // Built from constants of this module: see the callers for why each cannot be a literal.
        query: sqlx::query(AssertSqlSafe(text.into()).into_sql_str()),
        fault: None,
    }
}

/// Returns the first column of a row.
pub(super) fn scalar<T>(row: &SqliteRow) -> Result<T, StoreError>
where
    T: for<'r> Decode<'r, Sqlite> + Type<Sqlite>,
{
    Ok(row.try_get(0)?)
}

impl Statement {
    /// Adds the next value.
    pub(super) fn bind<'t>(mut self, value: impl Encode<'t, Sqlite> + Type<Sqlite>) -> Self {
        if let Err(error) = self.query.try_bind(value) {
            self.fault = Some(StoreError::bad_row("a value to store", error));
        }
        self
    }

    /// Runs it and returns how many rows it changed.
    pub(super) fn execute(self, db: &mut SqliteConnection) -> Found<'_, u64> {
        Box::pin(async move { Ok(self.ready()?.execute(db).await?.rows_affected()) })
    }

    /// Returns all of its rows.
    pub(super) fn rows(self, db: &mut SqliteConnection) -> Found<'_, Vec<SqliteRow>> {
        Box::pin(async move { Ok(self.ready()?.fetch_all(db).await?) })
    }

    /// Returns the results of `read` for each of its rows.
    pub(super) fn all<'c, T: 'c>(
        self,
        db: &'c mut SqliteConnection,
        read: impl FnMut(&SqliteRow) -> Result<T, StoreError> + Send + 'c,
    ) -> Found<'c, Vec<T>> {
        Box::pin(async move { self.rows(db).await?.iter().map(read).collect() })
    }

    /// Returns the result of `read` for its first row, if there is one.
    pub(super) fn first<'c, T: 'c>(
        self,
        db: &'c mut SqliteConnection,
        read: impl FnOnce(&SqliteRow) -> Result<T, StoreError> + Send + 'c,
    ) -> Found<'c, Option<T>> {
        Box::pin(async move {
            let row = self.ready()?.fetch_optional(db).await?;
            row.as_ref().map(read).transpose()
        })
    }

    /// Returns the result of `read` for the first row of a statement that must give one.
    pub(super) fn one<'c, T: 'c>(
        self,
        db: &'c mut SqliteConnection,
        read: impl FnOnce(&SqliteRow) -> Result<T, StoreError> + Send + 'c,
    ) -> Found<'c, T> {
        Box::pin(async move { read(&self.ready()?.fetch_one(db).await?) })
    }

    /// Returns the results of `read` for its rows, which are of `table`. A row that cannot be read is left out and
    /// named in the log, so that it does not make the others unusable. `key` is the column that identifies the row.
    pub(super) fn readable<'c, T: Send + 'c>(
        self,
        db: &'c mut SqliteConnection,
        table: &'static str,
        key: &'static str,
        mut read: impl FnMut(&SqliteRow) -> Result<T, StoreError> + Send + 'c,
    ) -> Found<'c, Vec<T>> {
        Box::pin(async move {
            let mut rows = self.stream(db)?;
            let mut found = Vec::new();
            while let Some(row) = rows.try_next().await? {
                match read(&row) {
                    Ok(value) => found.push(value),
                    Err(error) => report_unreadable(&row, table, key, &error),
                }
            }
            Ok(found)
        })
    }

    /// Returns its rows as they come.
    pub(super) fn stream<'c>(
        self,
        db: &'c mut SqliteConnection,
    ) -> Result<BoxStream<'c, Result<SqliteRow, sqlx::Error>>, StoreError> {
        Ok(self.ready()?.fetch(db))
    }

    /// Calls `visit` with each of its rows as it comes.
    pub(super) fn each<'c>(
        self,
        db: &'c mut SqliteConnection,
        mut visit: impl FnMut(&SqliteRow) -> Result<(), StoreError> + Send + 'c,
    ) -> Found<'c, ()> {
        Box::pin(async move {
            let mut rows = self.stream(db)?;
            while let Some(row) = rows.try_next().await? {
                visit(&row)?;
            }
            Ok(())
        })
    }

    fn ready(self) -> Result<Query<'static, Sqlite, SqliteArguments>, StoreError> {
        match self.fault {
            Some(fault) => Err(fault),
            None => Ok(self.query),
        }
    }
}
