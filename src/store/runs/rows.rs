//! The rows of a run before they become a tree.

use chrono::{DateTime, Utc};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection};

use crate::domain::{CallId, CausedRun, TurnId};
use crate::store::attempts::AttemptRow;
use crate::store::calls::Decision;
use crate::store::codec::{
    self, counted, parsed, parsed_option, report_unreadable, text_option, time, time_option,
};
use crate::store::error::StoreError;
use crate::store::statement::Statement;
use crate::store::turn_rows::{TurnRow, turn_row};
use crate::text;

/// Characters of a text that are read beyond those that are shown: a secret that is cut in two would not be recognised.
const BEYOND: usize = 4_096;

/// The rows of one run, read at one moment.
#[derive(Debug)]
pub struct RunRows {
    pub(super) run: TurnId,
    /// Bytes of a preview.
    pub(super) previews: usize,
    pub(super) turns: Vec<RunTurn>,
    pub(super) attempts: Vec<AttemptRow>,
    pub(super) calls: Vec<RunCall>,
    pub(super) questions: Vec<RunQuestion>,
    pub(super) said: Vec<Said>,
    pub(super) asked: Option<Asked>,
    pub(super) caused: Vec<CausedRun>,
    pub(super) caused_by: Option<TurnId>,
    pub(super) gaps: Vec<String>,
}

/// A turn of a run.
#[derive(Debug)]
pub(super) struct RunTurn {
    pub(super) row: TurnRow,
    pub(super) begun_with: Option<String>,
    pub(super) has_answer: Option<bool>,
    /// Its required and its given report, as JSON.
    pub(super) report: Option<String>,
}

#[derive(Debug)]
pub(super) struct RunCall {
    pub(super) turn: TurnId,
    pub(super) id: CallId,
    pub(super) name: String,
    pub(super) state: String,
    pub(super) started_at: Option<DateTime<Utc>>,
    pub(super) ended_at: Option<DateTime<Utc>>,
}

#[derive(Debug)]
pub(super) struct RunQuestion {
    pub(super) turn: TurnId,
    pub(super) call: CallId,
    pub(super) action: String,
    pub(super) asked_at: DateTime<Utc>,
    pub(super) decision: Option<Decision>,
    pub(super) decided_at: Option<DateTime<Utc>>,
}

/// The message that began it.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) name: String,
    pub(super) words: String,
}

/// The beginning of an item.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) turn: TurnId,
    pub(super) words: String,
    pub(super) what: SaidWhat,
}

#[derive(Debug)]
pub(super) enum SaidWhat {
    /// By a person, or a note.
    Input,
    /// By the model: its calls with their arguments, and their tokens where these are known.
    Answer {
        calls: Vec<(CallId, String)>,
        tokens: Option<(u64, u64)>,
    },
    /// By a tool.
    Result { call: CallId, is_error: bool },
}

impl RunRows {
    pub(super) const fn new(run: TurnId) -> Self {
        Self {
            run,
            previews: 0,
            turns: Vec::new(),
            attempts: Vec::new(),
            calls: Vec::new(),
            questions: Vec::new(),
            said: Vec::new(),
            asked: None,
            caused: Vec::new(),
            caused_by: None,
            gaps: Vec::new(),
        }
    }

    /// Returns the rows of `query` that can be read; the others are counted as a gap.
    pub(super) async fn read<T: Send>(
        &mut self,
        db: &mut SqliteConnection,
        query: Statement,
        table: &'static str,
        most: i64,
        read: fn(&SqliteRow) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let mut good = Vec::new();
        let mut found = 0;
        query
            .each(db, |row| {
                found += 1;
                match read(row) {
                    Ok(value) => good.push(value),
                    Err(error) => report_unreadable(row, table, "id", &error),
                }
                Ok(())
            })
            .await?;
        match found - good.len() {
            0 => {}
            1 => self.gaps.push(format!(
                "1 row of the table {table} cannot be read and is left out."
            )),
            lost => self.gaps.push(format!(
                "{lost} rows of the table {table} cannot be read and are left out."
            )),
        }
        if i64::try_from(found) == Ok(most) {
            let shown = text::thousands(found as u64);
            self.gaps.push(format!(
                "Only the first {shown} rows of the table {table} are shown."
            ));
        }
        Ok(good)
    }
}

/// Returns how many characters to load so that `most` bytes can be shown.
pub(super) const fn read_for(most: usize) -> usize {
    most.saturating_add(BEYOND)
}

pub(super) fn turn(row: &SqliteRow) -> Result<RunTurn, StoreError> {
    Ok(RunTurn {
        row: turn_row(row)?,
        begun_with: row.try_get("begun_with")?,
        has_answer: row.try_get("has_answer")?,
        report: row.try_get("report")?,
    })
}

pub(super) fn call(row: &SqliteRow) -> Result<RunCall, StoreError> {
    Ok(RunCall {
        turn: parsed(row, "turn_id")?,
        id: CallId(row.try_get("call_id")?),
        name: row.try_get("name")?,
        state: row.try_get("state")?,
        started_at: time_option(row, "started_at")?,
        ended_at: time_option(row, "ended_at")?,
    })
}

pub(super) fn question(row: &SqliteRow) -> Result<RunQuestion, StoreError> {
    Ok(RunQuestion {
        turn: parsed(row, "turn_id")?,
        call: CallId(row.try_get("call_id")?),
        action: row.try_get("action")?,
        asked_at: time(row, "asked_at")?,
        decision: parsed_option(row, "decision")?,
        decided_at: time_option(row, "decided_at")?,
    })
}

pub(super) fn asked(row: &SqliteRow) -> Result<Asked, StoreError> {
    is_sound(row)?;
    let text = |name| -> Result<String, StoreError> {
        Ok(row.try_get::<Option<String>, _>(name)?.unwrap_or_default())
    };
    Ok(Asked {
        name: text("name")?,
        words: text("words")?,
    })
}

pub(super) fn said(row: &SqliteRow) -> Result<Said, StoreError> {
    is_sound(row)?;
    let what = match codec::text(row, "role")? {
        "assistant" => SaidWhat::Answer {
            calls: calls(row)?,
            tokens: match row.try_get::<Option<i64>, _>("output")? {
                Some(_) => Some((counted(row, "input")?, counted(row, "output")?)),
                None => None,
            },
        },
        "tool_result" => SaidWhat::Result {
            call: CallId(
                row.try_get::<Option<String>, _>("call_id")?
                    .unwrap_or_default(),
            ),
            is_error: row.try_get::<Option<bool>, _>("is_error")?.unwrap_or(false),
        },
        _ => SaidWhat::Input,
    };
    Ok(Said {
        turn: parsed(row, "turn_id")?,
        words: row
            .try_get::<Option<String>, _>("words")?
            .unwrap_or_default(),
        what,
    })
}

fn calls(row: &SqliteRow) -> Result<Vec<(CallId, String)>, StoreError> {
    let Some(text) = text_option(row, "calls")? else {
        return Ok(Vec::new());
    };
    let calls: Vec<(Option<String>, Option<String>)> =
        serde_json::from_str(text).map_err(|error| StoreError::bad_row("items.body", error))?;
    let call = |(id, arguments): (Option<String>, Option<String>)| {
        (
            CallId(id.unwrap_or_default()),
            arguments.unwrap_or_default(),
        )
    };
    Ok(calls.into_iter().map(call).collect())
}

/// Checks whether its JSON could be read.
fn is_sound(row: &SqliteRow) -> Result<(), StoreError> {
    if row.try_get("is_sound")? {
        Ok(())
    } else {
        Err(StoreError::bad_row("body", "it is not JSON"))
    }
}
