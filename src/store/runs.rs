//! Runs for people to look at: one query per table and run, using an index on its turns.
//!
//! Everything is read at one moment. A row that cannot be read is left out and named ([`crate::domain::Run::gaps`]); the
//! rest is still useful.

mod exit;
mod list;
mod rows;
mod tree;
use sqlx::sqlite::SqliteRow;
use sqlx::{Connection as _, Row as _, SqliteConnection, query};

use super::Store;
use super::attempts::attempt;
use super::codec::{parsed, text};
use super::error::StoreError;
use super::shared::{shared_query, shared_text};
use super::statement::{Statement, checked, sql};
use crate::domain::{CausedRun, TurnId};

pub use exit::{EndFacts, ExitCode, Lacking, exit_code};
pub use list::{FoundRun, RunFilter, RunLine};
pub use rows::RunRows;

/// Most rows of one table that are read for a run: a hundred times as many as the largest run has.
const MOST_ROWS: i64 = 100_000;

/// Most items whose words are read: with these the largest answer takes no more than a few dozen megabytes.
const MOST_SAID: i64 = 4_000;

/// Whether people got the words of a run's turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// They got them, or could have.
    Said,
    /// They do once it is said.
    OnTheirWay,
    /// The words pass a role first, which may change them.
    Pass,
}

/// How much of the texts is read with a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Previews {
    /// None: only what was done, and what it used.
    None,
    /// At most so many bytes of each text.
    Bytes(usize),
}

impl Store {
    /// The rows of a run; `None` where there is no such turn. [`RunRows::into_run`] makes the tree from them.
    pub async fn run_rows(
        &self,
        run: TurnId,
        previews: Previews,
    ) -> Result<Option<RunRows>, StoreError> {
        let mut db = self.reader().await?;
        let mut moment = db.begin().await?;
        let rows = run_rows(&mut moment, run, previews).await;
        moment.rollback().await?;
        rows
    }

    /// Whether people get the words of a run's turns.
    pub async fn words_of_run(&self, run: TurnId) -> Result<Words, StoreError> {
        let query = checked(query!(
            "SELECT hides_words, state = 'running' AS runs FROM turns WHERE id = ?",
            run.to_string()
        ));
        let found = query.first(&mut *self.reader().await?, words).await?;
        Ok(found.unwrap_or(Words::Said))
    }
}

async fn run_rows(
    db: &mut SqliteConnection,
    run: TurnId,
    previews: Previews,
) -> Result<Option<RunRows>, StoreError> {
    let mut rows = RunRows::new(run);
    let id = &run.to_string();
    let turns = turns_of(id);
    rows.turns = rows.read(db, turns, "turns", MOST_ROWS, rows::turn).await?;
    if rows.turns.is_empty() && rows.gaps.is_empty() {
        return Ok(None);
    }
    let attempts = attempts_of(id);
    rows.attempts = rows
        .read(db, attempts, "attempts", MOST_ROWS, attempt)
        .await?;
    let calls = calls_of(id);
    rows.calls = rows.read(db, calls, "calls", MOST_ROWS, rows::call).await?;
    let questions = questions_of(id);
    rows.questions = rows
        .read(db, questions, "approvals", MOST_ROWS, rows::question)
        .await?;
    let asked = asked_of(id);
    rows.asked = rows
        .read(db, asked, "inbound", MOST_ROWS, rows::asked)
        .await?
        .pop();
    let caused = caused_of(id);
    rows.caused = rows
        .read(db, caused, "turns", MOST_ROWS, caused_run)
        .await?;
    let causing = causing_of(id);
    let causing = rows
        .read(db, causing, "turns", MOST_ROWS, |row| parsed(row, "run_id"))
        .await?;
    rows.caused_by = causing.into_iter().last();
    if let Previews::Bytes(most) = previews {
        rows.previews = most;
        let said = said_of(id, rows::read_for(most));
        rows.said = rows.read(db, said, "items", MOST_SAID, rows::said).await?;
    }
    Ok(Some(rows))
}

fn words(row: &SqliteRow) -> Result<Words, StoreError> {
    Ok(match (row.try_get("hides_words")?, row.try_get("runs")?) {
        (true, _) => Words::Pass,
        (false, true) => Words::OnTheirWay,
        (false, false) => Words::Said,
    })
}

/// The turns of a run, with what each began with.
fn turns_of(run: &str) -> Statement {
    checked(shared_query!(
        "SELECT turns.*, beginnings.text AS begun_with FROM turns LEFT JOIN beginnings ON beginnings.id = beginning_id
         WHERE turns.id IN " turns_of_run "ORDER BY turns.rowid LIMIT ?2";
        run, MOST_ROWS
    ))
}

/// The requests and tool runs of its turns.
fn attempts_of(run: &str) -> Statement {
    checked(shared_query!(
        "SELECT * FROM attempts WHERE turn_id IN " turns_of_run "ORDER BY id LIMIT ?2";
        run, MOST_ROWS
    ))
}

/// The calls of its turns.
fn calls_of(run: &str) -> Statement {
    checked(shared_query!(
        "SELECT * FROM calls WHERE turn_id IN " turns_of_run "ORDER BY turn_id, started_at, position LIMIT ?2";
        run, MOST_ROWS
    ))
}

/// The questions that its turns asked.
fn questions_of(run: &str) -> Statement {
    checked(shared_query!(
        "SELECT * FROM approvals WHERE turn_id IN " turns_of_run "ORDER BY id LIMIT ?2";
        run, MOST_ROWS
    ))
}

/// The roots that its turns caused.
fn caused_of(run: &str) -> Statement {
    checked(shared_query!(
        "SELECT t.id, c.kind AS conversation_kind, t.parent_id FROM turns t JOIN conversations c ON c.id = t.conversation_id
         WHERE t.parent_id IN " turns_of_run "AND t.kind = 'turn' ORDER BY t.id LIMIT 1000";
        run
    ))
}

/// The run of the turn that caused its root.
fn causing_of(run: &str) -> Statement {
    checked(query!(
        "SELECT coalesce(c.run_id, c.id) AS run_id, c.id AS id
         FROM turns r JOIN turns c ON c.id = r.parent_id WHERE r.id = ?1",
        run
    ))
}

/// Who asked, and the beginning of the question.
fn asked_of(run: &str) -> Statement {
    // The macros cannot tell which type is in JSON.
    sql(
        "SELECT iif(json_valid(body), json_extract(body, '$.author.name'), NULL) AS name,
             iif(json_valid(body), substr(json_extract(body, '$.content'), 1, 4000), NULL) AS words,
             json_valid(body) AS is_sound, message_id AS id
         FROM inbound WHERE message_id = (SELECT trigger_id FROM turns WHERE id = ?1)",
    )
    .bind(run)
}

fn caused_run(row: &SqliteRow) -> Result<CausedRun, StoreError> {
    let kind = text(row, "conversation_kind")?;
    Ok(CausedRun {
        run: parsed(row, "id")?,
        by: if kind == "branch" { "branch" } else { "note" },
    })
}

/// The items of the run's turns in its conversations, each text cut to `most` characters: a picture or a fetched page is
/// not read just for its beginning.
///
/// In a sound body NUL is escaped: SQLite takes a text to end there. A backslash of the text itself does not begin an
/// escape.
fn said_of(run: &str, most: usize) -> Statement {
    // The macros cannot tell which type is in JSON.
    sql(shared_text!(
        r"SELECT id, turn_id, role, sound IS NOT NULL AS is_sound, json_extract(sound, '$.call_id') AS call_id,
             substr(coalesce(json_extract(sound, '$.text'), json_extract(sound, '$.content')), 1, ?2) AS words,
             json_extract(sound, '$.is_error') AS is_error, json_extract(sound, '$.usage.output') AS output,
             json_extract(sound, '$.usage.input') AS input,
             (SELECT json_group_array(json_array(json_extract(value, '$.id'),
                     substr(json_extract(value, '$.arguments'), 1, ?2)))
                FROM json_each(sound, '$.tool_calls')) AS calls
         FROM (SELECT id, turn_id, role, iif(json_valid(body), iif(instr(body, '\u0000'),
                 replace(replace(replace(body, '\\', char(1)), '\u0000', '\u2400'), char(1), '\\'), body), NULL) AS sound
             FROM items
             WHERE conversation_id IN (SELECT conversation_id FROM turns WHERE id IN " turns_of_run ")
                 AND turn_id IN " turns_of_run " ORDER BY id LIMIT ?3)"
    ))
    .bind(run)
    .bind(i64::try_from(most).unwrap_or(i64::MAX))
    .bind(MOST_SAID)
}
