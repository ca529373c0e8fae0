//! The database with the program's own operations; SQL stays in this module.
//!
//! [`Store`] is a handle: clone it freely. All writes go through one task with group commit (`writer`), and no call
//! that writes returns before its transaction is on the disk. Reads use a few separate connections (`readers`).
//!
//! The ledger's steps, each committed before the next may begin (`docs/maintaining/ledger.md` explains the whole
//! process):
//!
//! ```text
//! accept ▸ begin_turn ▸ record_and_start ▸ open_questions ▸ decide_question
//!    ▸ start_call ▸ finish_call ▸ … ▸ finish_turn ▸ mark_sending ▸ mark_sent
//! start_child is start_call and begin_turn of the child in one; finish_child is finish_turn of the child and finish_call.
//! ```

mod agents;
mod attached;
mod attempts;
mod audit;
mod batch;
mod behind;
mod broken;
mod budget_days;
mod calls;
mod causes;
mod children;
mod codec;
mod conversations;
mod deliveries;
mod durability;
mod error;
mod inbound;
mod items;
mod lifecycle;
mod lock;
mod mcp;
mod metrics;
mod migrations;
mod open;
mod original;
mod outbox;
mod overview;
mod part;
mod questions;
mod read_only;
mod readers;
mod resumes;
mod runs;
mod schedule_runs;
mod schedules;
mod servers;
mod sessions;
mod settings;
mod statement;
mod tasks;
mod team;
mod thread_words;
mod turn_causes;
mod turn_rows;
mod turns;
mod unfinished;
mod webhooks;
mod work;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use sqlx::pool::PoolConnection;
use sqlx::sqlite::SqliteRow;
use sqlx::{Sqlite, SqliteConnection, SqlitePool};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use batch::Batch;
use durability::Durability;
use writer::{Message, Work, Writer};

pub use agents::{AgentRow, Registered};
pub use attached::AttachedRows;
pub use attempts::{
    AttemptRow, ChildrenUse, RoleUsage, Served, SpentUpTo, Sum, UsageFilter, UsageLine,
};
pub use audit::{AuditDecision, AuditFilter, AuditRow, Outcome};
pub use broken::{LeftOpen, Took};
pub use budget_days::{BudgetDay, BudgetKind, BudgetOfDay, Raised};
pub use calls::{CallEnd, Decision, NewQuestion, OpenQuestion, Settled};
use causes::Reserved;
pub use causes::{KeptNote, NewKeptNote, ReservedTurn};
pub use children::{EndedBelow, NewChild, NextStage, ToldOfEnd};
pub use conversations::{ConversationRow, NewConversation, PlanOf};
pub use deliveries::{
    Arrived, DeliveriesKey, DeliveriesOf, DeliveryId, DeliveryState, DeliveryView, MOST_JOINED,
    NewDelivery, WaitingDeliveries, WaitingDelivery,
};
pub use error::{DiskFault, StoreError, UnknownWord};
pub use inbound::{Accepted, MessagesOfBots, Queued};
pub use items::SavedAs;
pub use lifecycle::{Intent, IntentKind};
pub use lock::{HomeLock, LOCK_FILE};
pub use mcp::{McpMark, McpPinRow, McpScope, McpServerRow, McpState, PinnedDefinition};
pub use metrics::{
    AttemptLabels, AttemptSums, CALL_BOUNDS, COST_BOUNDS, Costs, Durations, TURN_BOUNDS, Tally,
    UnderWay,
};
pub use original::{Original, OriginalAgent, OriginalAudit, OriginalMessage, OriginalSession};
pub use outbox::{FirstPart, NextPart};
pub use overview::{AgentSpent, PersonSpent};
pub use part::{
    NewPart, OutFile, Part, PartBody, PartButton, PartKind, PartMenu, PartOption, PartState, Resend,
};
pub use questions::{
    MOST_QUESTIONS, NewPersonQuestion, PersonAsked, PersonQuestionEnd, PersonQuestionEnded,
    PersonQuestionRow, QuestionOutcome,
};
pub use resumes::{
    Chosen, InterruptedTurn, ResumeChoice, ResumeEnd, ResumeState, Resuming, StartedCall,
    TurnFacts, UsedBefore,
};
pub use runs::{
    EndFacts, ExitCode, FoundRun, Lacking, Previews, RunFilter, RunLine, RunRows, Words, exit_code,
};
pub use schedule_runs::{RunByHand, RunOf, RunsOf, SlotKey, SlotRun, SlotState, TakenSlot};
pub use schedules::{
    NewSchedule, ScheduleCounts, ScheduleKind, SchedulePlace, ScheduleRow, ScheduleState,
};
pub use servers::{ServerRow, ServerState};
pub use sessions::{Covered, SessionPage};
pub use tasks::{Hook, NewHook, NewTask, TaskEnd, TaskKind, TaskRow, TaskStatus};
pub use team::{
    CheckResult, CheckedProgram, MemberChange, MemberId, MemberLimits, MemberProcess, MemberRow,
    NewMember, ProgramCheck, ReadyFacts, Spawned,
};
pub use turn_causes::{Attendance, TurnCause};
pub use turn_rows::{TurnEnd, TurnRow};
pub use turns::{
    Begun, ChildKind, ChildOf, EndReason, FinishedTurn, NewTurn, Opening, Recorded, Starting,
};
pub use unfinished::{
    CallReach, Closing, OpenCall, Told, Unfinished, UnfinishedTurn, UnreadableTurn,
};
pub use webhooks::{NewWebhook, WebhookOptions, WebhookRow, WebhookState, WebhookThen};
pub use work::{Pausing, Repeats, RunEnd, RunEnded, RunPost, WorkKey};

/// The database of one home.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    jobs: mpsc::Sender<Message>,
    readers: SqlitePool,
    /// Turns that are about to begin without a person.
    reserved: Reserved,
    /// The writer's task. [`Store::close`] waits for its end.
    writer: Mutex<Option<JoinHandle<()>>>,
}

/// Connections for reading. Each has a cache of pages; more would wait for the same disk.
const READERS: u32 = 3;

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Store").field(&self.inner.path).finish()
    }
}

impl Store {
    /// Opens the database file `path`, and creates or upgrades it as needed. Acquire the home's [`HomeLock`] first.
    ///
    /// After an unclean stop (or a change by another program) the whole file is checked first.
    ///
    /// # Errors
    ///
    /// Fails for a damaged, foreign or newer database, which is left untouched, and for a SQLite before 3.51.3.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        let db = open::open(path).await.map_err(|error| error.at(path))?;
        let writer = Writer {
            path: path.to_owned(),
            db: Some(db),
            level: None,
        };
        let (jobs, inbox) = mpsc::channel(writer::INBOX);
        Ok(Self {
            inner: Arc::new(Inner {
                readers: readers::readers(path, READERS),
                path: path.to_owned(),
                jobs,
                reserved: Reserved::default(),
                writer: Mutex::new(Some(tokio::spawn(writer.run(inbox)))),
            }),
        })
    }

    /// Finishes waiting jobs, writes the log back into the database and closes it. Later calls get [`StoreError::Closed`];
    /// closing twice is fine.
    pub async fn close(&self) {
        let writer = self.inner.writer.lock().take();
        let Some(writer) = writer else { return };
        self.inner.readers.close().await;
        // This fails only if the writer has already ended.
        let _ = self.inner.jobs.send(Message::Stop).await;
        // An error means that it panicked, which has been logged.
        let _ = writer.await;
    }

    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Copies the whole database, in the state of one moment, into the new file `target`.
    ///
    /// # Errors
    ///
    /// Fails if `target` exists or cannot be written.
    pub async fn backup(&self, target: &Path) -> Result<(), StoreError> {
        open::vacuum_into(&mut *self.reader().await?, target).await
    }

    /// Passes `batch` to the writer; it is stored when this returns. Returns how many rows each statement changed.
    ///
    /// Dropping the future does not undo it.
    async fn run(&self, batch: Batch) -> Result<Vec<u64>, StoreError> {
        let durability = batch.durability();
        self.hand_over_work(durability, |db| Box::pin(batch.run(db)))
            .await
    }

    /// Runs it like [`Self::run`], and returns the results of `read` for the rows of the statements. An error of `read`
    /// undoes the batch.
    async fn rows<T: Send + 'static>(
        &self,
        batch: Batch,
        read: impl FnMut(&SqliteRow) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<Vec<T>, StoreError> {
        let durability = batch.durability();
        self.hand_over_work(durability, |db| Box::pin(batch.rows(db, read)))
            .await
    }

    /// Runs it like [`Self::rows`], for a batch that must give one row.
    async fn row<T: Send + 'static>(
        &self,
        batch: Batch,
        read: impl FnMut(&SqliteRow) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let row = self.rows(batch, read).await?.pop();
        row.ok_or_else(|| sqlx::Error::RowNotFound.into())
    }

    /// Runs it like [`Self::run`], for work in which a step depends on the result of an earlier one.
    async fn write<T: Send + 'static>(
        &self,
        work: impl for<'c> FnOnce(&'c mut SqliteConnection) -> BoxFuture<'c, Result<T, StoreError>>
        + Send
        + 'static,
    ) -> Result<T, StoreError> {
        self.hand_over_work(Durability::Synced, work).await
    }

    fn hand_over_work<T: Send + 'static>(
        &self,
        durability: Durability,
        work: impl for<'c> FnOnce(&'c mut SqliteConnection) -> BoxFuture<'c, Result<T, StoreError>>
        + Send
        + 'static,
    ) -> BoxFuture<'_, Result<T, StoreError>> {
        let (reply, answer) = oneshot::channel();
        let job = Message::Job(Box::new(Work::new(work, durability, reply)));
        Box::pin(async move {
            let sent = self.inner.jobs.send(job).await;
            sent.map_err(|_| StoreError::Closed)?;
            answer.await.map_err(|_| StoreError::Closed)?
        })
    }

    /// Returns a read-only connection. It sees everything that was stored before.
    async fn reader(&self) -> Result<PoolConnection<Sqlite>, StoreError> {
        readers::reader(&self.inner.readers).await
    }
}
