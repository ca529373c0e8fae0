//! Runs for people to read: one query per table and run, using an index on its turns.
//!
//! Everything is read at one point in time. A row that cannot be read is left out and named
//! ([`crate::domain::Run::gaps`]); the rest is still useful.

mod exit;
mod list;
mod rows;
mod tree;
use sqlx::sqlite::SqliteRow;
use sqlx::{Connection as _, Row as _, SqliteConnection, query};

use super::Store;
use super::attempts::attempt;
use super::codec::{parsed, text, text_option};
use super::error::StoreError;
use super::statement::{checked, sql};
use crate::domain::{CausedRun, TurnId};

pub use exit::{EndFacts, ExitCode, Lacking, exit_code};
pub use list::{FoundRun, RunFilter, RunLine};
pub use rows::RunRows;

/// Most rows of one table that are read for a run: a hundred times as many as the largest run has.
const MOST_ROWS: i64 = 100_000;

/// Most items with words that are read: with these the largest answer takes no more than a few dozen megabytes.
const MOST_SAID: i64 = 4_000;

/// The turns of the run `?1`.
const TURNS: &str = "SELECT id FROM turns WHERE id = ?1 UNION ALL SELECT id FROM turns WHERE run_id = ?1 AND kind <> 'turn'";

/// Whether people got the words of a run's turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// They got them, or could have.
    Said,
    /// They will get them once they are sent.
    OnTheirWay,
    /// A role has to pass the words first, and may change them.
    Pass,
}

/// How much of the texts is read with a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Previews {
    /// Nothing: only the operations and their use.
    None,
    /// At most this many bytes of each text.
    Bytes(usize),
}

impl Store {
    /// Returns the rows of a run; `None` if there is no such turn. [`RunRows::into_run`] builds the tree from them.
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

    /// Returns whether people get the words of a run's turns.
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
    let of_run = |text: String| sql(text).bind(run.to_string());
    let of_turns = |select, order| of_run(of_turns(select, order));
    rows.turns = rows
        .read(db, of_run(turns_sql()), "turns", MOST_ROWS, rows::turn)
        .await?;
    if rows.turns.is_empty() && rows.gaps.is_empty() {
        return Ok(None);
    }
    let attempts = of_turns("SELECT * FROM attempts", "ORDER BY id");
    rows.attempts = rows
        .read(db, attempts, "attempts", MOST_ROWS, attempt)
        .await?;
    let calls = of_turns(
        "SELECT * FROM calls",
        "ORDER BY turn_id, started_at, position",
    );
    rows.calls = rows.read(db, calls, "calls", MOST_ROWS, rows::call).await?;
    let questions = of_turns("SELECT * FROM approvals", "ORDER BY id");
    rows.questions = rows
        .read(db, questions, "approvals", MOST_ROWS, rows::question)
        .await?;
    let asked = of_run(ASKED.to_owned());
    rows.asked = rows
        .read(db, asked, "inbound", MOST_ROWS, rows::asked)
        .await?
        .pop();
    let caused = of_run(caused_sql());
    rows.caused = rows
        .read(db, caused, "turns", MOST_ROWS, caused_run)
        .await?;
    let causing = of_run(CAUSED_BY.to_owned());
    let causing = rows
        .read(db, causing, "turns", MOST_ROWS, |row| parsed(row, "run_id"))
        .await?;
    rows.caused_by = causing.into_iter().last();
    if let Previews::Bytes(most) = previews {
        rows.previews = most;
        let said = of_run(said_sql(rows::read_for(most)));
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

fn turns_sql() -> String {
    format!(
        "SELECT turns.*, beginnings.text AS begun_with FROM turns LEFT JOIN beginnings ON beginnings.id = beginning_id
         WHERE turns.id IN ({TURNS}) ORDER BY turns.rowid LIMIT {MOST_ROWS}"
    )
}

/// Returns the rows of a table with a `turn_id` in the run.
fn of_turns(select: &str, order: &str) -> String {
    format!("{select} WHERE turn_id IN ({TURNS}) {order} LIMIT {MOST_ROWS}")
}

/// The person who asked, and the beginning of the question.
const ASKED: &str = "SELECT iif(json_valid(body), json_extract(body, '$.author.name'), NULL) AS name,
        iif(json_valid(body), substr(json_extract(body, '$.content'), 1, 4000), NULL) AS words, json_valid(body) AS is_sound,
        message_id AS id
    FROM inbound WHERE message_id = (SELECT trigger_id FROM turns WHERE id = ?1)";

/// The run of the turn that caused the root.
const CAUSED_BY: &str = "SELECT coalesce(c.run_id, c.id) AS run_id, c.id AS id
    FROM turns r JOIN turns c ON c.id = r.parent_id WHERE r.id = ?1";

/// Returns the roots that turns of the run caused.
fn caused_sql() -> String {
    format!(
        "SELECT t.id, c.kind AS conversation_kind, t.parent_id, t.resumes FROM turns t JOIN conversations c ON c.id = t.conversation_id
         WHERE t.parent_id IN ({TURNS}) AND t.kind = 'turn' ORDER BY t.id LIMIT 1000"
    )
}

fn caused_run(row: &SqliteRow) -> Result<CausedRun, StoreError> {
    let kind = text(row, "conversation_kind")?;
    Ok(CausedRun {
        run: parsed(row, "id")?,
        by: if text_option(row, "resumes")?.is_some() {
            RESUME
        } else if kind == "branch" {
            "branch"
        } else {
            "note"
        },
    })
}

/// The cause of a run that continues an interrupted one.
pub(super) const RESUME: &str = "resume";

/// A body in which NUL is escaped: SQLite ends a text there. A backslash of the text itself does not begin an escape.
const WITHOUT_NUL: &str = r"iif(instr(body, '\u0000'),
                 replace(replace(replace(body, '\\', char(1)), '\u0000', '\u2400'), char(1), '\\'), body)";

/// Returns the items of the run's turns in its conversations, each text cut to `most` characters: a picture or a
/// fetched page is not read just for its beginning.
fn said_sql(most: usize) -> String {
    format!(
        "SELECT id, turn_id, role, sound IS NOT NULL AS is_sound, json_extract(sound, '$.call_id') AS call_id,
             substr(coalesce(json_extract(sound, '$.text'), json_extract(sound, '$.content')), 1, {most}) AS words,
             json_extract(sound, '$.is_error') AS is_error, json_extract(sound, '$.usage.output') AS output,
             json_extract(sound, '$.usage.input') AS input,
             (SELECT json_group_array(json_array(json_extract(value, '$.id'), substr(json_extract(value, '$.arguments'), 1, {most})))
                FROM json_each(sound, '$.tool_calls')) AS calls
         FROM (SELECT id, turn_id, role, iif(json_valid(body), {WITHOUT_NUL}, NULL) AS sound FROM items
             WHERE conversation_id IN (SELECT conversation_id FROM turns WHERE id IN ({TURNS}))
                 AND turn_id IN ({TURNS}) ORDER BY id LIMIT {MOST_SAID})"
    )
}
