//! A client of the [Model Context Protocol](https://modelcontextprotocol.io) for servers that are not trusted.
//!
//! [`Client`] speaks both revisions of the protocol over any pair of streams: `server/discover` of 2026-07-28, and `initialize` of
//! 2024-11-05 and later. All that a server sends is bounded in size, number and time, and one bad item never spoils the others.
//! [`Entry`] is the description of a server in the format that other clients use.
//!
//! The crate starts no process, stores nothing and decides nothing: which server may run and which tool may be called is the
//! caller's business.

mod canonical;
mod client;
mod entry;
mod list;
mod names;
mod peer;
mod result;
mod schema;
mod tool;
mod variables;
mod warnings;

pub use canonical::{canonical, sha256};
pub use chorus_rpc::{Broken, MAX_LINE, MAX_NOISE};
pub use client::{Client, Mode, Patience, StartError, Timing};
pub use entry::{ChorusKeys, Entry, EntryError, Mark, Place, Transport, Workspace, is_server_name};
pub use list::{Cut, ToolList};
pub use names::{MAX_MODEL_NAME, model_names};
pub use peer::{Progress, RequestError};
pub use result::{Attached, CallResult, Given};
pub use schema::SchemaError;
pub use tool::{Refused, Tool, ToolError};
pub use variables::{Expansion, MissingVariable, expand};
pub use warnings::{unversioned_package, warnings};
