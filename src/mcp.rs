//! MCP servers: what an entry means on this machine, what people approved of it, and the processes that are talked to.
//!
//! ```text
//! servers     what is written: config.json and an agent's own file
//! launch, connection, version     from an entry to a process that answers
//! live, processes   one for each agent and server: started by a call, ended when idle
//! pins, card  what was approved against what the server says now, and the card that asks people. Pure
//! roster      the servers and tools of an agent at one moment. Pure
//! hub         all of it together: starting, calling, approval
//! ```
//!
//! The protocol is `chorus-mcp`.

mod approval;
mod calling;
mod card;
mod connection;
mod hub;
mod launch;
mod live;
mod pins;
mod processes;
mod roster;
mod servers;
mod starting;
mod version;

pub use approval::{Asked, Decided, McpError, Press, Restart};
pub use calling::{CallError, Callee};
pub use card::MAX_DESCRIPTION;
pub use connection::{Connection, Failure};
pub use hub::{Hub, HubParts, Who, Written};
pub use launch::{Launch, LaunchError, Seen};
pub use pins::{Approval, Kept, WaitingTools};
pub use processes::{Phase, ProcessView, StartFault};
pub use roster::{PREFIX, Roster, RosterServer, RosterTool, Standing, ToolState, words_of};
pub use servers::{AGENT_FILE, FileError, Refused, Server, of_agent, of_config};
pub use version::{Unversioned, unversioned};
