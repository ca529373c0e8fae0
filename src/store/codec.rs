//! Converts between our types and SQLite's columns: times, ids and JSON, and rows that cannot be read.

use std::str::FromStr;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;
use tracing::error;

use super::error::StoreError;
use crate::domain::{Cost, Usage};

/// Returns the text of a time, always of one width, so that text order is time order.
pub(super) fn stamp(moment: DateTime<Utc>) -> String {
    moment.to_rfc3339_opts(SecondsFormat::Micros, true)
}

/// Returns the text of this moment.
pub(super) fn now() -> String {
    stamp(Utc::now())
}

pub(super) fn json<T: Serialize>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::bad_row("a value to store", error))
}

/// Returns the text of column `name`.
pub(super) fn text<'row>(row: &'row SqliteRow, name: &str) -> Result<&'row str, StoreError> {
    // sqlx reads NULL as an empty text.
    text_option(row, name)?.ok_or_else(|| StoreError::bad_row(name, "it is NULL"))
}

/// Returns the text of column `name`, if it has one.
pub(super) fn text_option<'row>(
    row: &'row SqliteRow,
    name: &str,
) -> Result<Option<&'row str>, StoreError> {
    Ok(row.try_get(name)?)
}

/// Returns JSON text of column `name` as a value.
pub(super) fn from_json<T: DeserializeOwned>(row: &SqliteRow, name: &str) -> Result<T, StoreError> {
    let text = text(row, name)?;
    serde_json::from_str(text).map_err(|error| StoreError::bad_row(name, fault(&error)))
}

/// Describes the error in a JSON text without quoting it: it may contain people's words, and this goes into the log.
fn fault(error: &serde_json::Error) -> String {
    use serde_json::error::Category;
    let what = match error.classify() {
        Category::Eof => "it is cut off",
        Category::Syntax => "it is not JSON",
        Category::Data | Category::Io => "it has another shape",
    };
    format!("{what} (line {}, column {})", error.line(), error.column())
}

/// Reads column `name` through its `FromStr`.
pub(super) fn parsed<T>(row: &SqliteRow, name: &str) -> Result<T, StoreError>
where
    T: FromStr,
    T::Err: std::fmt::Display,
{
    let text = text(row, name)?;
    text.parse()
        .map_err(|error| StoreError::bad_row(name, error))
}

/// Reads column `name` through its `FromStr`, if it is not null.
pub(super) fn parsed_option<T>(row: &SqliteRow, name: &str) -> Result<Option<T>, StoreError>
where
    T: FromStr,
    T::Err: std::fmt::Display,
{
    let text = text_option(row, name)?;
    text.map(|text| {
        text.parse()
            .map_err(|error| StoreError::bad_row(name, error))
    })
    .transpose()
}

/// Reads column `name` as a time.
pub(super) fn time(row: &SqliteRow, name: &str) -> Result<DateTime<Utc>, StoreError> {
    moment(name, text(row, name)?)
}

/// Reads column `name` as a time, if it is not null.
pub(super) fn time_option(
    row: &SqliteRow,
    name: &str,
) -> Result<Option<DateTime<Utc>>, StoreError> {
    let text = text_option(row, name)?;
    text.map(|text| moment(name, text)).transpose()
}

fn moment(name: &str, text: &str) -> Result<DateTime<Utc>, StoreError> {
    DateTime::parse_from_rfc3339(text)
        .map(|time| time.to_utc())
        .map_err(|error| StoreError::bad_row(name, error))
}

/// Logs a row that cannot be read.
pub(super) fn report_unreadable(row: &SqliteRow, table: &str, key: &str, error: &StoreError) {
    let id = row
        .try_get::<String, _>(key)
        .or_else(|_| row.try_get::<i64, _>(key).map(|id| id.to_string()))
        .unwrap_or_default();
    error!(
        "in the table {table} the row with {key} {id} does not read back and is left out: {error}"
    );
}

/// Converts a count for SQLite; our counts stay far below the limit.
pub(super) fn count(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Converts money for SQLite.
pub(super) const fn dollars(cost: Cost) -> Option<f64> {
    match cost {
        Cost::Usd(dollars) => Some(dollars),
        Cost::Unknown => None,
    }
}

/// Returns the tokens of a row, in columns that have the same names in all tables.
pub(super) fn tokens(row: &SqliteRow) -> Result<Usage, StoreError> {
    Ok(Usage {
        input: counted(row, "input")?,
        output: counted(row, "output")?,
        cache_read: counted(row, "cache_read")?,
        cache_write: counted(row, "cache_write")?,
    })
}

/// Returns the money of a row.
pub(super) fn cost(row: &SqliteRow) -> Result<Cost, StoreError> {
    let dollars: Option<f64> = row.try_get("cost_usd")?;
    Ok(dollars.map_or(Cost::Unknown, Cost::Usd))
}

/// Reads a count of SQLite's. The sum of no rows is NULL and counts as zero, and so does a negative one, which can only
/// be damage.
pub(super) fn counted(row: &SqliteRow, name: &str) -> Result<u64, StoreError> {
    let value: Option<i64> = row.try_get(name)?;
    Ok(value.and_then(|value| value.try_into().ok()).unwrap_or(0))
}

/// Creates an enum with values that are words in a column: `as_str`, and a `FromStr` with an error that names the
/// unknown word.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$vdoc])* $variant,)*
        }

        impl $name {
            /// Returns the word in the database.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::store::UnknownWord;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                match word {
                    $($word => Ok(Self::$variant),)*
                    other => Err($crate::store::UnknownWord(other.to_owned())),
                }
            }
        }
    };
}
pub(super) use words;
