//! The database speaks our verbs; SQL stays in this module.
//!
//! [`Store`] is a handle: clone it freely. All writes go through one task with group commit (`writer`), and no
//! call that writes returns before its transaction is on the disk. Reads use a few connections of their own.
//!
//! The ledger's steps, each committed before what follows it may begin (`docs/maintaining/ledger.md` tells the whole way):
//!
//! ```text
//! D1 accept ▸ D2 begin_turn ▸ D3 record_answer ▸ D4 open_question ▸ D5 decide_question
//!    ▸ D6 start_call ▸ D7 finish_call ▸ … ▸ D8 finish_turn ▸ D9 mark_sending, mark_sent
//! ```

mod agents;
mod attached;
mod attempts;
mod audit;
mod batch;
mod behind;
mod calls;
mod codec;
mod conversations;
mod error;
mod handle;
mod inbound;
mod items;
mod lifecycle;
mod lock;
mod migrations;
mod open;
mod original;
mod outbox;
mod part;
mod read_only;
mod servers;
mod sessions;
mod settings;
mod tasks;
mod turns;
mod unfinished;
mod writer;

pub use agents::{AgentRow, Registered};
pub use attached::AttachedRows;
pub use attempts::{AttemptRow, UsageFilter, UsageLine};
pub use audit::{AuditFilter, AuditRow, Outcome};
pub use calls::{Decision, NewQuestion, OpenQuestion, Settled};
pub use conversations::{Conversation, ConversationKind};
pub use error::{DiskFault, StoreError};
pub use handle::Store;
pub use inbound::{Accepted, Queued};
pub use items::SavedAs;
pub use lifecycle::{Intent, IntentKind};
pub use lock::HomeLock;
pub use original::{Original, OriginalAgent, OriginalAudit, OriginalMessage, OriginalSession};
pub use outbox::{FirstPart, Rest};
pub use part::{Doubt, NewPart, OutFile, Part, PartBody, PartKind, PartState};
pub use servers::{ServerRow, ServerState};
pub use sessions::{Covered, SessionPage};
pub use tasks::{Hook, NewHook, NewTask, TaskEnd, TaskKind, TaskRow, TaskStatus};
pub use turns::{Begun, FinishedTurn, NewTurn, TurnEnd, TurnRow};
pub use unfinished::{
    CallReach, Closing, OpenCall, Told, Unfinished, UnfinishedTurn, UnreadableTurn,
};
