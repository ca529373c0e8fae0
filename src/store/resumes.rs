//! Turns that a stop or a crash interrupted: how each continues, and what people decide about it.
//!
//! ```text
//! waiting ──▶ asked ──▶ resumed     a card is answered
//!    │          └─────▶ left
//!    ├───▶ resumed                  it goes on by itself
//!    └───▶ refused, left
//! ```

use chrono::{DateTime, Utc};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection, query};

use super::Store;
use super::batch::Batch;
use super::codec::{cost, now, parsed, parsed_option, stamp, text_option, time, tokens, words};
use super::error::StoreError;
use super::outbox::queue;
use super::part::NewPart;
use super::statement::{Statement, checked, scalar, sql};
use super::turn_rows::{TurnRow, turn_row};
use super::unfinished::Told;
use super::work::end_work_of;
use crate::domain::{
    AgentId, CallId, ChannelId, ConversationId, Cost, MessageId, TurnId, Usage, UserId,
};

words! {
    /// How far it is decided whether an interrupted turn continues.
    ResumeState {
        /// Nothing is decided yet.
        Waiting = "waiting",
        /// A card asks people.
        Asked = "asked",
        /// The turn's own question to people is still open.
        Question = "question",
        Resumed = "resumed",
        /// It does not continue.
        Left = "left",
        /// It may not continue.
        Refused = "refused",
    }
}

words! {
    /// What a person chose on a card.
    ResumeChoice {
        /// The calls that had started are done.
        Done = "done",
        /// The calls that had started run again.
        Again = "again",
        GoOn = "go_on",
        Leave = "leave",
        /// Their answer to the turn's question continues it; no card offers this.
        Answer = "answer",
    }
}

/// An interrupted turn that may continue.
#[derive(Clone, Debug, PartialEq)]
pub struct InterruptedTurn {
    pub turn: TurnRow,
    pub state: ResumeState,
    /// When it was interrupted, as far as that is known.
    pub at: DateTime<Utc>,
    /// Whether it continued an interrupted turn itself.
    pub is_resume: bool,
    /// Whether a later turn has begun in its conversation.
    pub is_overtaken: bool,
    /// The message about it: the line about the stop, or the card.
    pub message: Option<MessageId>,
    /// The content of the card, as a hash.
    pub binding: Option<String>,
    /// When the card expires.
    pub expires_at: Option<DateTime<Utc>>,
    pub choice: Option<ResumeChoice>,
    pub decided_by: Option<UserId>,
    /// Whether a person had stopped it.
    pub is_stopped: bool,
    /// The agent at the beginning of the turn.
    pub facts: Option<TurnFacts>,
}

/// The agent's state at the beginning of a turn. Cheap to compare; a difference means that the turn would continue as
/// another agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TurnFacts {
    /// SHA-256 of the profiles that decide; empty if one of them cannot be used.
    pub profile: String,
    /// The models that it asks, in order.
    pub models: String,
    /// SHA-256 of its charter; empty without one.
    pub charter: String,
}

/// A call that had started and has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartedCall {
    pub turn: TurnId,
    /// The agent of that turn: a sub-agent can be another agent.
    pub agent: AgentId,
    /// The conversation of that turn.
    pub conversation: ConversationId,
    /// The agent's name, then the roles down to that turn.
    pub path: String,
    pub call: CallId,
    pub name: String,
    pub started_at: DateTime<Utc>,
}

/// The use of a turn and of those that it continues.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UsedBefore {
    pub steps: u32,
    /// Time of requests and calls.
    pub millis: u64,
    /// Including all child turns.
    pub usage: Usage,
    pub cost: Cost,
    /// When the first of them began.
    pub began_at: DateTime<Utc>,
}

/// The interrupted turn that another continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resuming {
    pub turn: TurnId,
    /// The person who decided that it continues; `None` if it does so automatically.
    pub by: Option<UserId>,
    /// Whether the last item of the conversation is the note about the interruption, which a newer one replaces.
    pub replaces_note: bool,
}

/// The decision whether a turn continues.
#[derive(Debug, Default)]
pub struct ResumeEnd {
    /// The reason, for the ledger.
    pub reason: Option<&'static str>,
    /// The person who decided it.
    pub by: Option<UserId>,
    /// The messages for people.
    pub told: Vec<Told>,
}

/// The outcome of a press on a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chosen {
    Now,
    /// Another person was first, or the card has expired.
    Before(Option<UserId>),
}

/// Why a line about an interrupted turn is no longer posted.
const OVERTAKEN: &str = "the turn goes on";

/// Why a turn that a person stopped does not continue automatically.
const STOPPED: &str = "stopped";

/// Why the run of a schedule failed if its turn does not continue.
const INTERRUPTED_RUN: &str = "interrupted";

/// The interrupted turns; a condition may follow.
const INTERRUPTED: &str = "SELECT t.*, r.state AS resume_state, r.created_at AS interrupted_at, r.message_id AS about_id,
         r.binding, r.expires_at, r.choice, r.decided_by, r.reason AS resume_reason, f.profile, f.models, f.charter,
         EXISTS (SELECT 1 FROM turns n WHERE n.conversation_id = t.conversation_id AND n.rowid > t.rowid) AS is_overtaken
     FROM resumes r JOIN turns t ON t.id = r.turn_id LEFT JOIN turn_facts f ON f.id = t.facts_id";

impl Store {
    /// Returns the undecided interrupted turns, in their order.
    pub async fn interrupted_turns(&self) -> Result<Vec<InterruptedTurn>, StoreError> {
        let query = sql(format!(
            "{INTERRUPTED} WHERE r.state IN ('waiting', 'asked', 'question') AND (r.reason IS NULL OR t.state <> 'finished') ORDER BY t.rowid"
        ));
        query
            .readable(&mut *self.reader().await?, "resumes", "id", interrupted)
            .await
    }

    /// Returns an interrupted turn in any state.
    pub async fn interrupted_turn(
        &self,
        turn: TurnId,
    ) -> Result<Option<InterruptedTurn>, StoreError> {
        let query = sql(format!("{INTERRUPTED} WHERE r.turn_id = ?")).bind(turn.to_string());
        query.first(&mut *self.reader().await?, interrupted).await
    }

    /// Returns the calls of a run that had started and have no result, in the order of their starts.
    pub async fn started_calls(&self, run: TurnId) -> Result<Vec<StartedCall>, StoreError> {
        let query = checked(query!(
            "SELECT c.turn_id, c.call_id, c.name, c.started_at, t.path, t.conversation_id, t.agent_id
                 FROM turns t JOIN calls c ON c.turn_id = t.id
                 WHERE (t.id = ?1 OR (t.run_id = ?1 AND t.kind <> 'turn'))
                     AND c.state = 'interrupted' AND c.started_at IS NOT NULL
                 ORDER BY c.started_at, c.position",
            run.to_string()
        ));
        query.all(&mut *self.reader().await?, started_call).await
    }

    /// Returns the use of a turn and of those that it continues.
    pub async fn used_before(&self, turn: TurnId) -> Result<Option<UsedBefore>, StoreError> {
        let query = checked(query!(
            "WITH RECURSIVE chain (id) AS (
                 VALUES (?) UNION SELECT t.resumes FROM chain JOIN turns t ON t.id = chain.id WHERE t.resumes IS NOT NULL
             ), whole (id, root) AS (
                 SELECT id, 1 FROM chain
                 UNION SELECT t.id, 0 FROM chain JOIN turns t ON t.run_id = chain.id WHERE t.kind <> 'turn'
             )
             SELECT (SELECT min(t.began_at) FROM chain JOIN turns t ON t.id = chain.id) AS began_at,
                 count(*) FILTER (WHERE root = 1 AND a.kind = 'model' AND a.outcome = 'ok') AS steps,
                 coalesce(sum(a.millis) FILTER (WHERE root = 1 AND a.kind <> 'queue'), 0) AS millis,
                 coalesce(sum(a.input), 0) AS input, coalesce(sum(a.output), 0) AS output,
                 coalesce(sum(a.cache_read), 0) AS cache_read, coalesce(sum(a.cache_write), 0) AS cache_write,
                 total(a.cost_usd) AS cost_usd
             FROM whole LEFT JOIN attempts a ON a.turn_id = whole.id",
            turn.to_string()
        ));
        let read = |row: &SqliteRow| {
            if row.try_get::<Option<String>, _>("began_at")?.is_none() {
                return Ok(None);
            }
            let number = |name: &str| -> Result<i64, StoreError> { Ok(row.try_get(name)?) };
            Ok(Some(UsedBefore {
                steps: u32::try_from(number("steps")?).unwrap_or(u32::MAX),
                millis: u64::try_from(number("millis")?).unwrap_or_default(),
                usage: tokens(row)?,
                cost: cost(row)?,
                began_at: time(row, "began_at")?,
            }))
        };
        let found = query.first(&mut *self.reader().await?, read).await?;
        Ok(found.flatten())
    }

    /// Asks people with a card, which expires at `expires_at`. Does nothing if there was a decision meanwhile.
    pub async fn ask_about_interrupted(
        &self,
        turn: TurnId,
        binding: String,
        expires_at: DateTime<Utc>,
        (channel, card): (ChannelId, NewPart),
    ) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch
            .add(query!(
                "UPDATE resumes SET state = 'asked', binding = ?, expires_at = ?, message_id = NULL
                 WHERE turn_id = ? AND state = 'waiting'",
                binding,
                stamp(expires_at),
                turn.to_string()
            ))
            .must_change("interrupted turn that waits");
        queue(&mut batch, channel, Some(turn), card, None)?;
        unless_settled(self.run(batch).await.map(drop))
    }

    /// Stores a person's choice on a card, before it is carried out; the first choice counts.
    pub async fn choose(
        &self,
        turn: TurnId,
        choice: ResumeChoice,
        by: UserId,
        told: Vec<Told>,
    ) -> Result<Chosen, StoreError> {
        let mut batch = Batch::default();
        batch
            .add(query!(
                "UPDATE resumes SET choice = ?, decided_by = ?, decided_at = ?, state = iif(? = 'leave', 'left', state)
                 WHERE turn_id = ? AND state = 'asked' AND choice IS NULL AND expires_at > ?",
                choice.as_str(),
                by.as_i64(),
                now(),
                choice.as_str(),
                turn.to_string(),
                now()
            ))
            .must_change("card that nobody answered");
        if choice == ResumeChoice::Leave {
            end_work_of(&mut batch, turn, INTERRUPTED_RUN);
        }
        say(&mut batch, told)?;
        match self.run(batch).await {
            Ok(_) => Ok(Chosen::Now),
            Err(StoreError::NotFound(_)) => {
                let row = self.interrupted_turn(turn).await?;
                Ok(Chosen::Before(row.and_then(|row| row.decided_by)))
            }
            Err(error) => Err(error),
        }
    }

    /// Decides that a turn does not continue. Does nothing if there was a decision meanwhile.
    pub async fn do_not_go_on(
        &self,
        turn: TurnId,
        state: ResumeState,
        end: ResumeEnd,
    ) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch
            .add(query!(
                "UPDATE resumes SET state = ?, reason = ?, decided_by = coalesce(?, decided_by), decided_at = ?
                 WHERE turn_id = ? AND state IN ('waiting', 'asked', 'question')",
                state.as_str(),
                end.reason,
                end.by.map(UserId::as_i64),
                now(),
                turn.to_string()
            ))
            .must_change("interrupted turn that is not settled");
        end_work_of(&mut batch, turn, INTERRUPTED_RUN);
        say(&mut batch, end.told)?;
        unless_settled(self.run(batch).await.map(drop))
    }

    /// Sends people messages about interrupted turns.
    pub async fn tell(&self, told: Vec<Told>) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        say(&mut batch, told)?;
        self.run(batch).await.map(drop)
    }

    /// Records that a person stopped these turns, so that none of them continues automatically after a crash.
    pub async fn note_stops(&self, turns: &[TurnId]) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        for turn in turns {
            batch.add(query!(
                "INSERT OR IGNORE INTO resumes (turn_id, state, reason, created_at)
                     SELECT id, 'waiting', ?, ? FROM turns WHERE id = ? AND state = 'running' AND kind = 'turn'",
                STOPPED,
                now(),
                turn.to_string()
            ));
        }
        self.run(batch).await.map(drop)
    }

    /// Stores the id of the message about an interrupted turn.
    pub async fn set_message_about(
        &self,
        turn: TurnId,
        message: MessageId,
    ) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch.add(query!(
            "UPDATE resumes SET message_id = ? WHERE turn_id = ?",
            message.as_i64(),
            turn.to_string()
        ));
        self.run(batch).await.map(drop)
    }

    /// Returns the turn that continues this one, if one does.
    pub async fn resumed_by(&self, turn: TurnId) -> Result<Option<TurnId>, StoreError> {
        let query = checked(query!(
            "SELECT id FROM turns WHERE resumes = ?",
            turn.to_string()
        ));
        query
            .first(&mut *self.reader().await?, |row| parsed(row, "id"))
            .await
    }
}

/// Allows a turn that ends because the daemon stops to continue after the next start.
pub(super) fn may_go_on(batch: &mut Batch, turn: TurnId) {
    batch.add(query!(
        "INSERT OR IGNORE INTO resumes (turn_id, state, created_at)
             SELECT id, 'waiting', ? FROM turns WHERE id = ? AND kind = 'turn' AND coalesce(cause, '') <> 'peer'",
        now(),
        turn.to_string()
    ));
}

/// Returns a statement that does the same for all running turns during crash recovery: the time of interruption is that
/// of their last activity.
pub(super) fn all_may_go_on() -> Statement {
    checked(query!(
        "INSERT OR IGNORE INTO resumes (turn_id, state, created_at)
             SELECT t.id, 'waiting', max(t.began_at,
                     coalesce((SELECT max(a.at) FROM attempts a WHERE a.turn_id = t.id), ''),
                     coalesce((SELECT max(coalesce(c.ended_at, c.started_at, '')) FROM calls c WHERE c.turn_id = t.id), ''))
                 FROM turns t WHERE t.state = 'running' AND t.kind = 'turn' AND coalesce(t.cause, '') <> 'peer'"
    ))
}

/// Stores the facts of a turn that continues an interrupted one, before its items.
pub(super) fn takes_over(
    batch: &mut Batch,
    conversation: ConversationId,
    new: TurnId,
    resuming: &Resuming,
) {
    batch
        .add(query!(
            "UPDATE resumes SET state = 'resumed', decided_at = coalesce(decided_at, ?)
             WHERE turn_id = ? AND state IN ('waiting', 'asked', 'question')",
            now(),
            resuming.turn.to_string()
        ))
        .must_change("interrupted turn that is not settled");
    batch.add(query!(
        "UPDATE turns SET resumes = ?, unattended = ? WHERE id = ?",
        resuming.turn.to_string(),
        resuming.by.is_none(),
        new.to_string()
    ));
    if resuming.replaces_note {
        batch.add(query!(
            "DELETE FROM items WHERE json_extract(body, '$.note') = 1
                 AND id = (SELECT max(id) FROM items WHERE conversation_id = ? AND dropped_at IS NULL)",
            conversation.0
        ));
    }
}

/// Tells people that the turn continues: replaces the line about the stop, or adds a new one.
pub(super) async fn tell_of_going_on(
    db: &mut SqliteConnection,
    channel: ChannelId,
    interrupted: TurnId,
    line: NewPart,
) -> Result<(), StoreError> {
    let shown: Option<Option<i64>> = checked(query!(
        "SELECT message_id FROM resumes WHERE turn_id = ?",
        interrupted.to_string()
    ))
    .first(db, scalar)
    .await?;
    let shown = shown.flatten().map(MessageId::from_i64);
    let mut batch = Batch::default();
    if shown.is_none() {
        forget_unsent(&mut batch, channel, interrupted);
    }
    queue(&mut batch, channel, None, line, shown)?;
    batch.run(db).await.map(drop)
}

/// Drops unsent messages about an interrupted turn.
fn forget_unsent(batch: &mut Batch, channel: ChannelId, interrupted: TurnId) {
    batch.add(query!(
        "UPDATE outbox SET state = 'failed', reason = ?
             WHERE channel_id = ? AND state = 'pending' AND turn_id = ? AND json_extract(body, '$.is_about') = 1",
        OVERTAKEN,
        channel.as_i64(),
        interrupted.to_string()
    ));
}

fn say(batch: &mut Batch, told: Vec<Told>) -> Result<(), StoreError> {
    for told in told {
        queue(batch, told.channel, None, told.part, told.edits)?;
    }
    Ok(())
}

/// Accepts that another decision came first. Then nothing is left to do.
fn unless_settled(done: Result<(), StoreError>) -> Result<(), StoreError> {
    match done {
        Err(StoreError::NotFound(_)) => Ok(()),
        done => done,
    }
}

fn interrupted(row: &SqliteRow) -> Result<InterruptedTurn, StoreError> {
    let user: Option<i64> = row.try_get("decided_by")?;
    let message: Option<i64> = row.try_get("about_id")?;
    let fact = |name: &str| text_option(row, name).map(|text| text.map(str::to_owned));
    let facts = match (fact("profile")?, fact("models")?, fact("charter")?) {
        (Some(profile), Some(models), Some(charter)) => Some(TurnFacts {
            profile,
            models,
            charter,
        }),
        _ => None,
    };
    Ok(InterruptedTurn {
        turn: turn_row(row)?,
        state: parsed(row, "resume_state")?,
        at: time(row, "interrupted_at")?,
        is_resume: text_option(row, "resumes")?.is_some(),
        is_overtaken: row.try_get("is_overtaken")?,
        message: message.map(MessageId::from_i64),
        binding: text_option(row, "binding")?.map(str::to_owned),
        expires_at: super::codec::time_option(row, "expires_at")?,
        choice: parsed_option(row, "choice")?,
        decided_by: user.map(UserId::from_i64),
        is_stopped: text_option(row, "resume_reason")? == Some(STOPPED),
        facts,
    })
}

fn started_call(row: &SqliteRow) -> Result<StartedCall, StoreError> {
    Ok(StartedCall {
        turn: parsed(row, "turn_id")?,
        agent: parsed(row, "agent_id")?,
        conversation: ConversationId(row.try_get("conversation_id")?),
        path: row
            .try_get::<Option<String>, _>("path")?
            .unwrap_or_default(),
        call: CallId(row.try_get("call_id")?),
        name: row.try_get("name")?,
        started_at: time(row, "started_at")?,
    })
}
