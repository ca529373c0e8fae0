//! All agents: who there is, which one a message is for, and what is done to them as a whole.
//!
//! ```text
//! discord ─▶ AgentManager ─┬▶ roster: channel → agent, in memory from the start
//!                          ├▶ an agent's actor, made at its first message
//!                          └▶ lifecycle: init, destroy, repair, config
//! ```
//!
//! The manager is a handle; clone it freely.

mod branches;
mod configure;
mod contexts;
mod create;
mod destroy;
mod error;
mod folder;
mod link;
mod ports;
pub mod recovery;
mod repair;
mod roster;
mod routing;
mod settings;
mod status;
mod tasks;

use std::sync::Arc;

use tokio::sync::Mutex;

use crate::agent::{Members, Parts};
use crate::store::StoreError;
use crate::workspace::template::Template;

pub use crate::agent::Stopped;
pub use branches::{BranchHistory, BranchTarget, BranchView, StepView};
pub use configure::CONFIG_KEYS;
pub use contexts::History;
pub use create::{Made, NewAgent, Refine};
pub use destroy::{Destroyed, Files, KeepFiles};
pub use error::ManagerError;
pub use link::Link;
pub use ports::Channels;
pub use roster::{AgentListing, AgentSummary};
pub use routing::Received;
pub use status::{SessionState, Status};

use roster::Roster;

/// All agents of the daemon.
#[derive(Clone)]
pub struct AgentManager {
    inner: Arc<Inner>,
}

struct Inner {
    parts: Arc<Parts>,
    roster: Roster,
    template: Template,
    /// One creation, destruction, rename or repair at a time: they are rare, and two of one name must not meet.
    lifecycle: Mutex<()>,
}

impl AgentManager {
    /// Knows all registered agents; makes no actor yet.
    ///
    /// # Errors
    ///
    /// When the index of agents or the servers' settings cannot be read.
    pub async fn open(parts: Arc<Parts>, template: Template) -> Result<Self, StoreError> {
        let agents = parts.store.agents().await?;
        let folder = parts.paths.agents();
        // Leftovers of crashes; nobody waits for them to be gone.
        tokio::task::spawn_blocking(move || folder::sweep(&folder));
        let manager = Self {
            inner: Arc::new(Inner {
                parts,
                roster: Roster::of(agents),
                template,
                lifecycle: Mutex::new(()),
            }),
        };
        manager.load_settings().await?;
        Ok(manager)
    }

    /// Joins the port through which members' roles are read.
    pub fn connect(&self, members: Arc<dyn Members>) {
        // A second connection of the same process brings the same port.
        let _ = self.inner.parts.members.set(members);
    }

    /// What agents share; for the composition root.
    pub fn parts(&self) -> &Arc<Parts> {
        &self.inner.parts
    }
}
