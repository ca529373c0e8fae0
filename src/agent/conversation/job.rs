//! What is done to a conversation as a whole: a context command, or the end of a branch.
//!
//! A job may have to wait for the end of a turn, and for a summary. Until it is done nothing else begins in its
//! conversation; all other conversations continue.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::task::Id;
use tokio_util::sync::CancellationToken;

use super::mailbox::{AfterSave, BeforeClear, Cleared, ClosedBranches, Restored};
use crate::agent::idle_timer::Hold;
use crate::agent::sessions::{self, SessionError};
use crate::domain::{Item, SessionMeta};
use crate::store::StoreError;

/// Where the outcome of a job goes.
type Reply<T> = oneshot::Sender<Result<T, SessionError>>;

/// The items of a conversation, for its job.
pub(in crate::agent) type Held = Result<Arc<Vec<Item>>, StoreError>;

pub(in crate::agent) struct Job {
    pub kind: JobKind,
    pub stage: Stage,
    /// A turn was ended for it.
    pub ended_turn: bool,
    /// The agent does not become idle meanwhile.
    pub _hold: Hold,
}

/// What is done, and where the outcome goes.
pub(in crate::agent) enum JobKind {
    Save {
        description: Option<String>,
        then: AfterSave,
        reply: Reply<SessionMeta>,
    },
    Clear {
        first: BeforeClear,
        reply: Reply<Cleared>,
    },
    Restore {
        /// The session that replaces the context.
        session: Box<sessions::Restored>,
        reply: Reply<Restored>,
    },
    Compact {
        /// How many items the summary will replace, from the first.
        cut: usize,
        reply: Reply<String>,
    },
    Close {
        reply: oneshot::Sender<Result<ClosedBranches, StoreError>>,
    },
}

/// What a job waits for.
pub(in crate::agent) enum Stage {
    /// The turn of its conversation, which was asked to end.
    TurnEnd,
    /// A summary of these items.
    Summary {
        items: Arc<Vec<Item>>,
        /// A turn was running when they were taken. It may compact the conversation meanwhile, and adds to it in any case.
        beside_turn: bool,
        /// Ends the request for it.
        stop: CancellationToken,
        /// The task that makes it.
        task: Id,
    },
}

impl Job {
    /// Whether a turn that runs in its conversation already is left running.
    pub(super) fn leaves_turn_running(&self) -> bool {
        !self.kind.ends_turn()
    }

    /// Whether it waits for the task with this id.
    pub(in crate::agent) fn waits_for(&self, id: Id) -> bool {
        matches!(&self.stage, Stage::Summary { task, .. } if *task == id)
    }

    /// Ends its summary, where it is a compaction; returns whether it is one.
    pub(in crate::agent) fn stop_compaction(&self) -> bool {
        let is_compaction = matches!(self.kind, JobKind::Compact { .. });
        if is_compaction {
            self.stop_summary();
        }
        is_compaction
    }

    /// Ends the summary that it waits for; returns whether it waits for one.
    pub(in crate::agent) fn stop_summary(&self) -> bool {
        let Stage::Summary { stop, .. } = &self.stage else {
            return false;
        };
        stop.cancel();
        true
    }
}

impl JobKind {
    /// Whether the turn of its conversation is ended for it.
    pub(in crate::agent) fn ends_turn(&self) -> bool {
        match self {
            Self::Save { then, .. } => *then == AfterSave::Clear,
            Self::Clear { .. } | Self::Restore { .. } | Self::Close { .. } => true,
            Self::Compact { .. } => false,
        }
    }

    /// Whether the conversation is saved, given that it holds items.
    pub(in crate::agent) fn saves(&self, is_unsaved: bool) -> bool {
        match self {
            Self::Save { .. } | Self::Compact { .. } | Self::Close { .. } => true,
            Self::Clear { first, .. } => *first == BeforeClear::Save,
            Self::Restore { .. } => is_unsaved,
        }
    }
}
