//! The database with the program's own verbs; SQL stays in this module.
//!
//! [`Store`] is a handle: clone it freely. All writes go through one thread with group commit (`writer`), and no call that
//! writes returns before its transaction is on the disk. Reads use a few connections of their own (`readers`).
//!
//! The ledger's steps, each committed before what follows it may begin (`docs/maintaining/ledger.md` explains the whole
//! way):
//!
//! ```text
//! D1 accept ▸ D2 begin_turn ▸ D3 record_and_start ▸ D4 open_questions ▸ D5 decide_question
//!    ▸ D6 start_call ▸ D7 finish_call ▸ … ▸ D8 finish_turn ▸ D9 mark_sending, mark_sent
//! C1 start_child is D6 of a call and D2 of the child turn that answers it, C2 finish_child D8 of the child and D7 of the call.
//! ```

mod agents;
mod attached;
mod attempts;
mod audit;
mod batch;
mod behind;
mod broken;
mod calls;
mod causes;
mod children;
mod codec;
mod conversations;
mod durability;
mod error;
mod inbound;
mod items;
mod lifecycle;
mod lock;
mod metrics;
mod migrations;
mod open;
mod original;
mod outbox;
mod part;
mod read_only;
mod readers;
mod runs;
mod servers;
mod sessions;
mod settings;
mod statement;
mod tasks;
mod thread_words;
mod turn_rows;
mod turns;
mod unfinished;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;
use rusqlite::{Connection, Row};
use tokio::sync::{mpsc, oneshot};

use batch::Batch;
use durability::Durability;
use readers::{Readers, blocking};
use writer::{Message, Work, Writer};

pub use agents::{AgentRow, Registered};
pub use attached::AttachedRows;
pub use attempts::{AttemptRow, ChildrenUse, RoleUsage, SpentUpTo, Sum, UsageFilter, UsageLine};
pub use audit::{AuditDecision, AuditFilter, AuditRow, Outcome};
pub use broken::{LeftOpen, Took};
pub use calls::{CallEnd, Decision, NewQuestion, OpenQuestion, Settled};
use causes::Reserved;
pub use causes::{KeptNote, NewKeptNote, ReservedTurn};
pub use children::{EndedBelow, NewChild, NextStage, ToldOfEnd};
pub use conversations::{ConversationRow, NewConversation};
pub use error::{DiskFault, StoreError, UnknownWord};
pub use inbound::{Accepted, MessagesOfBots, Queued};
pub use items::SavedAs;
pub use lifecycle::{Intent, IntentKind};
pub use lock::{HomeLock, LOCK_FILE};
pub use metrics::{
    AttemptLabels, AttemptSums, CALL_BOUNDS, COST_BOUNDS, Costs, Durations, TURN_BOUNDS, Tally,
    UnderWay,
};
pub use original::{Original, OriginalAgent, OriginalAudit, OriginalMessage, OriginalSession};
pub use outbox::{FirstPart, NextPart};
pub use part::{NewPart, OutFile, Part, PartBody, PartButton, PartKind, PartState, Resend};
pub use runs::{
    EndFacts, ExitCode, FoundRun, Lacking, Previews, RunFilter, RunLine, RunRows, Words, exit_code,
};
pub use servers::{ServerRow, ServerState};
pub use sessions::{Covered, SessionPage};
pub use tasks::{Hook, NewHook, NewTask, TaskEnd, TaskKind, TaskRow, TaskStatus};
pub use turn_rows::{TurnEnd, TurnRow};
pub use turns::{
    Begun, ChildKind, ChildOf, EndReason, FinishedTurn, NewTurn, Opening, Recorded, Starting,
};
pub use unfinished::{
    CallReach, Closing, OpenCall, Told, Unfinished, UnfinishedTurn, UnreadableTurn,
};

/// The database of one home.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    jobs: mpsc::Sender<Message>,
    readers: Readers,
    /// Turns that are about to begin without a person.
    reserved: Reserved,
    /// Hears of the end of the writer's thread.
    writer: Mutex<Option<oneshot::Receiver<()>>>,
}

/// Connections that read. Each has a cache of pages; more would wait for the same disk.
const READERS: u32 = 3;

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Store").field(&self.inner.path).finish()
    }
}

impl Store {
    /// Opens the database file `path`, making or upgrading it as needed. Hold the home's [`HomeLock`] before.
    ///
    /// After an unclean stop (or a change by another program) the whole file is checked first.
    ///
    /// # Errors
    ///
    /// A damaged, foreign or newer database is refused and left untouched; so is a SQLite before 3.51.3.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        let path = path.to_owned();
        blocking(move || Self::open_here(path)).await
    }

    fn open_here(path: PathBuf) -> Result<Self, StoreError> {
        let db = open::open(&path).map_err(|error| error.at(&path))?;
        let writer = Writer {
            path: path.clone(),
            db: Some(db),
            level: None,
        };
        let (jobs, inbox) = mpsc::channel(writer::INBOX);
        let (ended, end) = oneshot::channel();
        thread::Builder::new()
            .name("ledger".to_owned())
            .spawn(move || {
                writer.run(inbox);
                // Nobody waits where the store was not closed.
                let _ = ended.send(());
            })
            .map_err(|error| StoreError::Home {
                path: path.clone(),
                reason: error.to_string(),
            })?;
        Ok(Self {
            inner: Arc::new(Inner {
                readers: Readers::new(path.clone(), READERS),
                path,
                jobs,
                reserved: Reserved::default(),
                writer: Mutex::new(Some(end)),
            }),
        })
    }

    /// Finishes waiting jobs, writes the log back into the database and closes it. Later calls get [`StoreError::Closed`];
    /// closing twice is fine.
    pub async fn close(&self) {
        let writer = self.inner.writer.lock().take();
        let Some(writer) = writer else { return };
        self.inner.readers.close().await;
        // This fails only when the writer has ended already.
        let _ = self.inner.jobs.send(Message::Stop).await;
        // An error means that its thread is gone, which has been logged.
        let _ = writer.await;
    }

    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Copies the whole database, in the state of one moment, into the new file `target`.
    ///
    /// # Errors
    ///
    /// When `target` exists or cannot be written.
    pub async fn backup(&self, target: &Path) -> Result<(), StoreError> {
        let target = target.to_owned();
        self.read(move |db| open::vacuum_into(db, &target)).await
    }

    /// Hands `batch` to the writer; it is stored when this returns. Returns how many rows each statement changed.
    ///
    /// Dropping the future does not undo it.
    async fn run(&self, batch: Batch) -> Result<Vec<usize>, StoreError> {
        let durability = batch.durability();
        self.hand_over_work(durability, |db| batch.run(db)).await
    }

    /// Like [`Self::run`], with what `read` makes of the rows that the statements give. Its error undoes the batch.
    async fn rows<T: Send + 'static>(
        &self,
        batch: Batch,
        read: impl FnMut(&Row<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<Vec<T>, StoreError> {
        let durability = batch.durability();
        self.hand_over_work(durability, |db| batch.rows(db, read))
            .await
    }

    /// Like [`Self::rows`], for a batch that must give one.
    async fn row<T: Send + 'static>(
        &self,
        batch: Batch,
        read: impl FnMut(&Row<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let row = self.rows(batch, read).await?.pop();
        row.ok_or_else(|| rusqlite::Error::QueryReturnedNoRows.into())
    }

    /// Like [`Self::run`], for work in which a step depends on what an earlier one found.
    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.hand_over_work(Durability::Synced, work).await
    }

    async fn hand_over_work<T: Send + 'static>(
        &self,
        durability: Durability,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let job = Message::Job(Box::new(Work::new(work, durability, reply)));
        let sent = self.inner.jobs.send(job).await;
        sent.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// Runs `work` on a connection that can only read. It sees everything that was stored before.
    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.inner.readers.read(work).await
    }
}
