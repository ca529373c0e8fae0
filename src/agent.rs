//! An agent at work: its actor, its conversations, its turns.
//!
//! ```text
//! AgentHandle ─▶ mailbox ─▶ actor ─┬▶ turn: begin ▸ steps ▸ calls ▸ finish     (one for each conversation at work)
//!                                  ├▶ idle timer
//!                                  └▶ contexts: save · clear · restore · compact
//! turn ─▶ Event (shown by Discord's room)      turn, contexts ─▶ store (before anything is shown)
//! ```

mod actor;
mod aside;
mod budget;
mod closing;
mod compact;
mod configuration;
mod contexts;
mod conversation;
pub mod event;
mod exit;
mod files;
mod hearing;
mod identity;
pub mod idle_timer;
mod mailbox;
mod models;
mod parts;
mod prompt;
pub mod refine;
mod running;
pub mod session_file;
pub mod session_label;
pub mod session_manager;
mod sessions;
mod silence;
mod stop;
mod stuck;
mod told_tools;
mod turn;
mod work_clock;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tracing::{Instrument, info_span};

use crate::domain::{AgentId, AgentName, ChannelId, GuildId};

pub use aside::{Aside, Asker};
pub use budget::{Caps, Reservations, Spender};
pub use configuration::{Configuration, Configurations};
pub use exit::Exit;
pub use identity::Identity;
pub use mailbox::{
    AfterSave, AgentHandle, BeforeClear, Cleared, ClosedBranches, ContextAction, ConversationState,
    Letter, Mode, Place, Prompt, Restored, RunningTurn, Source, Stopped, Target, Trigger,
};
pub use models::Models;
pub use parts::{Busy, Limits, Members, Parts};
pub use stop::{Stop, Stopper};

/// Makes an agent's actor. It lives until its last handle is dropped or it is told to end.
pub fn spawn(
    parts: Arc<Parts>,
    id: AgentId,
    name: AgentName,
    guild: GuildId,
    channel: ChannelId,
) -> AgentHandle {
    let (handle, mailbox) = mailbox::mailbox();
    let (fired, idle) = mpsc::unbounded_channel();
    let timer = idle_timer::IdleTimer::new(None, move |firing| {
        // Nobody listens any more: the actor is gone, and so is its context.
        let _ = fired.send(firing);
    });
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
        idle,
        work: JoinSet::new(),
        parts,
        agent,
        timer,
        conversations: BTreeMap::new(),
        main: None,
        acts_for: Stopper::Shutdown,
        put_off: VecDeque::new(),
        is_destroyed: false,
    };
    tokio::spawn(actor.run().instrument(span));
    handle
}
