//! All agents: who there is, which one a message is for, and what is done to them as a whole.
//!
//! ```text
//! discord ─▶ AgentManager ─┬▶ registry: channel → agent, in memory from the start
//!                          ├▶ an agent's actor, made at its first message
//!                          └▶ lifecycle: init, destroy, repair, config
//! ```
//!
//! The manager is a handle; clone it freely.

mod access;
mod always_allow;
mod audit;
mod branches;
mod configure;
mod contexts;
mod create;
mod create_folder;
mod destroy;
mod error;
mod folder;

mod grant;
mod handle;
mod known_access;
mod lost;
mod missing;
mod names;
mod new_agent;
mod ports;
pub mod recovery;
mod registry;
mod rename;
mod repair;
mod routing;
mod servers;
mod serving;
mod settings;
mod settle;
mod status;
mod tasks;
mod tool_ports;

pub use crate::agent::Stopped;
pub use access::Access;
pub use branches::{BranchHistory, BranchTarget, BranchView, StepView};
pub use contexts::History;
pub use destroy::{Destroyed, Files, KeepFiles};
pub use error::{ManagerError, PRIVATE};
pub use handle::AgentManager;
pub use missing::Lacks;
pub use new_agent::{Made, NewAgent, Refine};
pub use ports::{ChannelError, Channels, Renamed};
pub use registry::{AgentListing, AgentSummary};
pub use repair::{LostFolder, Repaired};
pub use routing::Received;
pub use servers::{Reason, SeenServer, Standing, leaves_at};
pub use status::{SessionState, Status};
pub use tool_ports::ToolPorts;
