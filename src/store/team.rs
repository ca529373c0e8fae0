//! Members of teams, and how programs behaved when they were checked.
//!
//! A member's row is committed before anything is done for it. Its next state is decided in the transaction that stores it, so
//! two changes that come together have one order.

use chorus_acp::{Change, EndReason, Role, State, next_state};
use chrono::{DateTime, Utc};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection, query};

use super::Store;
use super::batch::Batch;
use super::codec::{now, parsed, parsed_option, stamp, time, time_option, words};
use super::error::StoreError;
use super::statement::checked;
use crate::domain::{AgentId, ConversationId, UserId};

/// The id of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MemberId(pub i64);

words! {
    /// Whether a program asks before it runs a command.
    CheckResult {
        /// A question came first, and its refusal was obeyed.
        Asks = "asks",
        /// The command ran without a question.
        DoesNotAsk = "does not ask",
        /// Neither was seen.
        Unknown = "unknown",
    }
}

/// A member about to be spawned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMember {
    pub agent: AgentId,
    pub role: Role,
    /// The id of its program in `agent_servers`.
    pub program: String,
    pub branch: String,
    /// `None` where no person asked for it.
    pub spawned_by: Option<UserId>,
}

/// The outcome of storing a new member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spawned {
    Now(MemberId),
    /// A live member has the role, in this state.
    Taken(State),
    /// The agent has this many live members already.
    TeamIsFull(u64),
    /// The daemon has.
    DaemonIsFull(u64),
}

/// How many live members there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberLimits {
    pub of_agent: u64,
    pub of_daemon: u64,
}

/// What is known of a member once its session is open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadyFacts {
    pub version: Option<String>,
    pub acp_session: String,
    pub mode: Option<String>,
}

/// A thing that happens to a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberChange {
    Ready(ReadyFacts),
    /// With the error, for people.
    Failed(String),
    Ended(EndReason),
}

/// One member.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberRow {
    pub id: MemberId,
    pub agent: AgentId,
    pub role: Role,
    pub program: String,
    pub version: Option<String>,
    pub state: State,
    pub error: Option<String>,
    pub reason: Option<EndReason>,
    pub conversation: Option<ConversationId>,
    pub acp_session: Option<String>,
    pub branch: Option<String>,
    pub base_commit: Option<String>,
    pub tip: Option<String>,
    pub mode: Option<String>,
    pub process: Option<MemberProcess>,
    pub spawned_by: Option<UserId>,
    pub spawned_at: DateTime<Utc>,
    pub ready_at: Option<DateTime<Utc>>,
    pub last_active_at: DateTime<Utc>,
    pub ended_at: Option<DateTime<Utc>>,
}

/// The process of a member: a pid may be reused, so it counts only with its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberProcess {
    pub pid: u32,
    /// In clock ticks since boot.
    pub started: u64,
}

/// A program as it was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedProgram {
    pub program: String,
    pub version: String,
    /// The hash of its entry: another entry is another program.
    pub entry_sha256: String,
}

/// How a program behaved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramCheck {
    pub result: CheckResult,
    /// Why the result is unknown.
    pub detail: Option<String>,
    pub checked_at: DateTime<Utc>,
}

impl MemberChange {
    const fn change(&self) -> Change {
        match self {
            Self::Ready(_) => Change::Ready,
            Self::Failed(_) => Change::Failed,
            Self::Ended(reason) => Change::Ended(*reason),
        }
    }
}

impl Store {
    /// Stores a member that is about to be spawned, unless its role or a limit forbids it. A member of that role that failed ends
    /// as replaced.
    pub async fn spawn_member(
        &self,
        new: NewMember,
        limits: MemberLimits,
    ) -> Result<Spawned, StoreError> {
        self.write(move |db| Box::pin(spawn(db, new, limits))).await
    }

    /// Stores the process of a member. What is known of it must be stored before it is talked to.
    pub async fn member_started(
        &self,
        member: MemberId,
        process: MemberProcess,
    ) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch
            .add(query!(
                "UPDATE team_members SET pid = ?, pid_started = ? WHERE id = ?",
                i64::from(process.pid),
                process.started.cast_signed(),
                member.0
            ))
            .must_change("the member");
        self.run(batch).await.map(drop)
    }

    /// Stores where a member works: its conversation, and the commit that its branch begins at.
    pub async fn member_works_in(
        &self,
        member: MemberId,
        conversation: Option<ConversationId>,
        base_commit: &str,
    ) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch
            .add(query!(
                "UPDATE team_members SET conversation_id = ?, base_commit = ?, tip = ? WHERE id = ?",
                conversation.map(|conversation| conversation.0),
                base_commit,
                base_commit,
                member.0
            ))
            .must_change("the member");
        self.run(batch).await.map(drop)
    }

    /// Notes that a member did something, and where its branch is now. That does not wait for the disk.
    pub async fn member_was_active(
        &self,
        member: MemberId,
        tip: Option<&str>,
    ) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch.add(query!(
            "UPDATE team_members SET last_active_at = ?, tip = coalesce(?, tip) WHERE id = ?",
            now(),
            tip,
            member.0
        ));
        self.run(batch.unsynced()).await.map(drop)
    }

    /// Stores what happened to a member. Returns its new state; `None` where it was past that, and nothing changed.
    pub async fn change_member(
        &self,
        member: MemberId,
        change: MemberChange,
    ) -> Result<Option<State>, StoreError> {
        self.write(move |db| Box::pin(apply(db, member, change)))
            .await
    }

    /// Ends all live members, after a start: their processes are gone or are ended. Returns them as they were.
    pub async fn end_members_of_before(&self) -> Result<Vec<MemberRow>, StoreError> {
        self.write(move |db| {
            Box::pin(async move {
                let query = checked(query!(
                    "SELECT * FROM team_members WHERE state IN ('SPAWNING', 'ACTIVE') ORDER BY id"
                ));
                let live = query.all(db, member).await?;
                for row in &live {
                    let ended = MemberChange::Ended(EndReason::DaemonRestarted);
                    apply(db, row.id, ended).await?;
                }
                Ok(live)
            })
        })
        .await
    }

    /// The members of an agent that have not ended, oldest first. What cannot be read is left out.
    pub async fn team(&self, agent: AgentId) -> Result<Vec<MemberRow>, StoreError> {
        let query = checked(query!(
            "SELECT * FROM team_members WHERE agent_id = ? AND state <> 'TERMINATED' ORDER BY id",
            agent.to_string()
        ));
        query
            .readable(&mut *self.reader().await?, "team_members", "id", member)
            .await
    }

    /// The latest member of a role, also one that has ended.
    pub async fn latest_member(
        &self,
        agent: AgentId,
        role: &Role,
    ) -> Result<Option<MemberRow>, StoreError> {
        let query = checked(query!(
            "SELECT * FROM team_members WHERE agent_id = ? AND role = ? ORDER BY id DESC LIMIT 1",
            agent.to_string(),
            role.as_str()
        ));
        query.first(&mut *self.reader().await?, member).await
    }

    /// How a program behaved when it was checked.
    pub async fn program_check(
        &self,
        of: &CheckedProgram,
    ) -> Result<Option<ProgramCheck>, StoreError> {
        let query = checked(query!(
            "SELECT result, detail, checked_at FROM program_checks
                 WHERE program = ? AND version = ? AND entry_sha256 = ?",
            of.program.clone(),
            of.version.clone(),
            of.entry_sha256.clone()
        ));
        query.first(&mut *self.reader().await?, check).await
    }

    /// Stores how a program behaved, in the place of what was stored of it.
    pub async fn put_program_check(
        &self,
        of: &CheckedProgram,
        check: &ProgramCheck,
    ) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch.add(query!(
            "INSERT OR REPLACE INTO program_checks (program, version, entry_sha256, result, detail, checked_at)
                 VALUES (?, ?, ?, ?, ?, ?)",
            of.program.as_str(),
            of.version.as_str(),
            of.entry_sha256.as_str(),
            check.result.as_str(),
            check.detail.as_deref(),
            stamp(check.checked_at)
        ));
        self.run(batch).await.map(drop)
    }
}

async fn spawn(
    db: &mut SqliteConnection,
    new: NewMember,
    limits: MemberLimits,
) -> Result<Spawned, StoreError> {
    let query = checked(query!(
        "SELECT * FROM team_members WHERE state IN ('SPAWNING', 'ACTIVE')"
    ));
    let live = query.all(db, member).await?;
    let of_agent = || live.iter().filter(|row| row.agent == new.agent);
    if let Some(row) = of_agent().find(|row| row.role == new.role) {
        return Ok(Spawned::Taken(row.state));
    }
    let count = of_agent().count() as u64;
    if count >= limits.of_agent {
        return Ok(Spawned::TeamIsFull(count));
    }
    if live.len() as u64 >= limits.of_daemon {
        return Ok(Spawned::DaemonIsFull(live.len() as u64));
    }
    let query = checked(query!(
        "SELECT * FROM team_members WHERE agent_id = ? AND role = ? AND state = 'FAILED'",
        new.agent.to_string(),
        new.role.as_str().to_owned()
    ));
    for failed in query.all(db, member).await? {
        apply(db, failed.id, MemberChange::Ended(EndReason::Replaced)).await?;
    }
    let at = now();
    let mut batch = Batch::default();
    batch.add(query!(
        "INSERT INTO team_members (agent_id, role, program, state, branch, spawned_by, spawned_at, last_active_at)
             VALUES (?, ?, ?, 'SPAWNING', ?, ?, ?, ?)",
        new.agent.to_string(),
        new.role.as_str().to_owned(),
        new.program,
        new.branch,
        new.spawned_by.map(UserId::as_i64),
        at.clone(),
        at
    ));
    batch.run(db).await?;
    let query = checked(query!("SELECT last_insert_rowid() AS id"));
    let id = query
        .one(db, |row| Ok(row.try_get::<i64, _>("id")?))
        .await?;
    Ok(Spawned::Now(MemberId(id)))
}

async fn apply(
    db: &mut SqliteConnection,
    id: MemberId,
    change: MemberChange,
) -> Result<Option<State>, StoreError> {
    let query = checked(query!("SELECT * FROM team_members WHERE id = ?", id.0));
    let Some(row) = query.first(db, member).await? else {
        return Err(StoreError::NotFound("the member".to_owned()));
    };
    let Some(next) = next_state(row.state, change.change()) else {
        return Ok(None);
    };
    let (at, word) = (now(), next.as_str());
    let mut batch = Batch::default();
    match change {
        MemberChange::Ready(facts) => batch.add(query!(
            "UPDATE team_members SET state = ?, version = ?, acp_session = ?, mode = ?, ready_at = ?, last_active_at = ? WHERE id = ?",
            word,
            facts.version,
            facts.acp_session,
            facts.mode,
            at.clone(),
            at,
            id.0
        )),
        MemberChange::Failed(error) => batch.add(query!(
            "UPDATE team_members SET state = ?, error = ?, ended_at = ? WHERE id = ?",
            word,
            error,
            at,
            id.0
        )),
        MemberChange::Ended(reason) => batch.add(query!(
            "UPDATE team_members SET state = ?, reason = ?, ended_at = coalesce(ended_at, ?) WHERE id = ?",
            word,
            reason.as_str(),
            at,
            id.0
        )),
    };
    batch.run(db).await?;
    Ok(Some(next))
}

fn member(row: &SqliteRow) -> Result<MemberRow, StoreError> {
    let pid: Option<i64> = row.try_get("pid")?;
    let started: Option<i64> = row.try_get("pid_started")?;
    let process = pid.and_then(|pid| u32::try_from(pid).ok()).zip(started);
    let conversation: Option<i64> = row.try_get("conversation_id")?;
    let spawned_by: Option<i64> = row.try_get("spawned_by")?;
    Ok(MemberRow {
        id: MemberId(row.try_get("id")?),
        agent: parsed(row, "agent_id")?,
        role: parsed(row, "role")?,
        program: row.try_get("program")?,
        version: row.try_get("version")?,
        state: parsed(row, "state")?,
        error: row.try_get("error")?,
        reason: parsed_option(row, "reason")?,
        conversation: conversation.map(ConversationId),
        acp_session: row.try_get("acp_session")?,
        branch: row.try_get("branch")?,
        base_commit: row.try_get("base_commit")?,
        tip: row.try_get("tip")?,
        mode: row.try_get("mode")?,
        process: process.map(|(pid, started)| MemberProcess {
            pid,
            started: started.cast_unsigned(),
        }),
        spawned_by: spawned_by.map(UserId::from_i64),
        spawned_at: time(row, "spawned_at")?,
        ready_at: time_option(row, "ready_at")?,
        last_active_at: time(row, "last_active_at")?,
        ended_at: time_option(row, "ended_at")?,
    })
}

fn check(row: &SqliteRow) -> Result<ProgramCheck, StoreError> {
    Ok(ProgramCheck {
        result: parsed(row, "result")?,
        detail: row.try_get("detail")?,
        checked_at: time(row, "checked_at")?,
    })
}
