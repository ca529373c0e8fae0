//! What is put right after a crash, or after something was lost.
//!
//! ```text
//! start    the database: interrupted turns, their calls and sessions, before the gateway connects
//! interrupted  how turns go on that were interrupted, once Discord is connected
//! questions  answers to questions of `ask_person`, over a restart too
//! settle   creations, renames and destructions that were interrupted
//! lost     folders of agents that the database does not know
//! missing  agents whose channel or folder is gone
//! ```

mod card;
mod interrupted;
mod lost;
mod missing;
mod questions;
mod settle;
mod start;

use std::sync::Arc;

use crate::agent::AgentDeps;

use super::directory::Directory;
use super::lifecycle::Lifecycle;
use super::lifecycle::creator::Creator;
use super::names::NameLocks;
use super::routing::Routing;
use super::routing::tasks::AgentTasks;
use super::servers::Servers;
use super::servers::access_control::AccessControl;
use super::servers::settings::ServerSettings;

pub(crate) use interrupted::Cards;
pub(crate) use lost::UnknownFolders;
pub use missing::Lacks;
pub use questions::Reply;
pub use start::{NOT_STARTED, Recovered, STARTED, recover, save_interrupted};

/// Finishes what a crash interrupted, and finds what agents have lost.
pub(crate) struct Recovery {
    pub(crate) deps: Arc<AgentDeps>,
    pub(crate) directory: Arc<Directory>,
    pub(crate) servers: Arc<Servers>,
    pub(crate) settings: Arc<ServerSettings>,
    pub(crate) creator: Arc<Creator>,
    pub(crate) lifecycle: Arc<Lifecycle>,
    pub(crate) tasks: Arc<AgentTasks>,
    pub(crate) routing: Arc<Routing>,
    pub(crate) access: Arc<AccessControl>,
    pub(crate) names: Arc<NameLocks>,
    pub(crate) unknown: UnknownFolders,
    pub(crate) cards: Cards,
}
