//! An agent at work: its actor, its conversations, its turns.
//!
//! ```text
//! AgentHandle ─▶ mailbox ─▶ actor ─┬▶ turn: begin ▸ steps ▸ calls ▸ finish     (one for each conversation at work)
//!                                  ├▶ idle timer
//!                                  └▶ contexts: save · clear · restore · compact
//! turn ─▶ Event (shown by `discord`)      turn, contexts ─▶ store (before anything is shown)
//! ```
//!
//! | what | where |
//! |---|---|
//! | the actor, what it is told and what it tells | `actor`, `mailbox`, `event`, `identity`, `deps` |
//! | its conversations, and what is done to one as a whole | `conversation`, `branches`, `job`, `contexts`, `compaction`, `closing`, `summaries` |
//! | its turns | `running`, `child_threads`, `turn`, `run`, `stop`, `deadline`, `stuck`, `work_clock`, `end_reason`, `last_line` |
//! | what it is, by its files | `setup`, `core_agents`, `files`, `modes`, `prompt`, `tool_specs` |
//! | models, and what they cost | `models`, `auxiliary`, `budget`, `refine` |
//! | silence, and its end | `idle`, `idle_timer`, `saving`, `ending` |
//! | saved sessions | `sessions`, `session_manager`, `session_file`, `session_label` |

mod actor;
mod at_work;
mod auxiliary;
mod branches;
mod budget;
mod child_threads;
mod closing;
mod compaction;
mod contexts;
mod conversation;
mod core_agents;
mod deadline;
mod deps;
mod end_reason;
mod ending;
pub mod event;
mod files;
mod identity;
mod idle;
pub mod idle_timer;
mod job;
mod last_line;
mod mailbox;
mod models;
mod modes;
mod prompt;
pub mod refine;
mod report_lines;
mod reports;
mod run;
mod running;
mod saving;
mod seed;
pub mod session_file;
pub mod session_label;
pub mod session_manager;
mod sessions;
mod setup;
mod stop;
mod stuck;
mod summaries;
mod tool_specs;
mod turn;
mod work_clock;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tokio::task::JoinSet;
use tokio_util::task::TaskTracker;
use tracing::{Instrument, info_span};

use crate::domain::{AgentId, AgentName, ChannelId, GuildId};

pub use actor::AgentHandle;
pub use at_work::NobodyElsewhere;
pub use auxiliary::{Asker, AuxiliaryRequest};
pub use budget::{Caps, KnownSums, Reservations, Spender, Spent};
pub use core_agents::MOST_CORE_AGENTS;
pub use deps::{AgentDeps, Busy, Limits, Members};
pub use end_reason::EndReason;
pub use identity::Identity;
pub use last_line::LastLine;
pub use mailbox::{
    AfterSave, AgentCommand, BeforeClear, Cleared, ClosedBranches, ContextAction,
    ConversationState, NewBranch, Overrides, Place, Prompt, Restored, RunningTurn, Source, Stopped,
    Target, Trigger,
};
pub use models::Models;
pub use setup::{Charters, Configuration, Configurations, Fault, OwnRole, Roles, StageNews};
pub use stop::{Stop, Stopper};

/// Makes an agent's actor, as one of the tasks of `actors`. It lives until its last handle is dropped or it is told to end.
pub fn spawn(
    actors: &TaskTracker,
    deps: Arc<AgentDeps>,
    id: AgentId,
    name: AgentName,
    guild: GuildId,
    channel: ChannelId,
) -> AgentHandle {
    let (handle, mailbox) = actor::mailbox();
    let timer = idle_timer::IdleTimer::new(None);
    let agent = Arc::new(Identity {
        id,
        name,
        guild,
        channel,
        timer: timer.clone(),
    });
    let span = info_span!(parent: None, "agent", agent.id = %id, agent.name = %agent.name);
    let actor = actor::Actor {
        mailbox,
        mailbox_is_over: false,
        work: JoinSet::new(),
        replies: JoinSet::new(),
        deps,
        agent,
        timer,
        conversations: BTreeMap::new(),
        main: None,
        replayed: VecDeque::new(),
        strays: actor::Strays::default(),
        idle_saving: None,
        ending: None,
        wait_for_end: Vec::new(),
        is_destroyed: false,
        unanswered: Vec::new(),
    };
    actors.spawn(actor.run().instrument(span));
    handle
}
