//! What a model can do: tools, each one file under `builtin/`, and what wraps them all.
//!
//! `registry` knows them by name and checks arguments; `guard` runs one call with its deadline, output cap and span.
//! Permission is judged before, by whoever holds the profile; a tool only says which action it would be.
//! What tools need from the rooms above is asked through the small traits in `ports`.

mod arguments;
pub mod builtin;
mod caller;
mod change;
mod erased;
mod error;
mod files;
mod git;
mod git_access;
pub mod guard;
pub mod hooks;
mod lines;
pub mod output_store;
mod peers;
pub mod ports;
mod rate_limit;
pub mod registry;
mod replace;
mod run_task;
mod schema;
mod services;
mod shell;
pub mod tasks;
mod tool;
mod web;
mod work;
pub mod worker;
mod write_file;

pub use caller::Caller;
pub use change::Change;
pub use erased::{Prepared, ToolInfo};
pub use error::ToolError;
pub use git_access::{ForgeAccess, GitAccess, HostAccess};
pub use peers::first_prose;
pub use rate_limit::RateLimit;
pub use registry::Registry;
pub use services::{Services, Shell, http_client};
pub use tool::{Output, Tool, ToolContext};
pub use web::{Web, is_public};
