//! MCP servers: what an entry means on this machine, and the processes that are talked to.
//!
//! [`Launch`] turns an entry into a program with its sandbox; [`Connection`] starts it, shakes hands and ends it. The protocol is
//! `chorus-mcp`. Agents do not call these servers yet: `chorus mcp test` does.

mod connection;
mod launch;
mod servers;
mod stderr;
mod version;

pub use connection::{Connection, Failure};
pub use launch::{Launch, LaunchError, Seen};
pub use servers::{AGENT_FILE, FileError, Refused, Server, of_agent, of_config};
pub use version::{Unversioned, unversioned};
