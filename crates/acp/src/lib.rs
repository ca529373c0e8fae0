//! A client of the [Agent Client Protocol](https://agentclientprotocol.com), version 1, for programs that are not trusted.
//!
//! [`connect`] starts reading and writing over two streams. [`Client`] sends requests; [`Events`] has in one order all that the
//! program sends: updates, questions, the end of a prompt, its own end. All of it is bounded in size, number and time.
//!
//! The crate starts no process and decides nothing: what a question comes to is the caller's business. [`readings`] says what a
//! question may mean, [`choose`] which of its options a decision is. [`State`] is the life of a member.

mod call;
mod client;
mod events;
mod mode;
mod options;
mod peer;
mod plan;
mod prompt;
mod reading;
mod role;
mod setup;
mod state;
mod update;

pub use call::{Call, Calls, Diff, Kind, Status};
pub use client::{Client, connect};
pub use events::{Event, Events, PermissionRequest};
pub use mode::{ConfirmError, ModeStep, NoModel, current_mode, mode_step};
pub use options::{Choice, Decision, PermissionOption, choose};
pub use peer::RequestError;
pub use plan::{Entry, EntryStatus, plan_lines};
pub use prompt::{Block, StopReason};
pub use reading::{Reading, readings};
pub use role::{Role, RoleError};
pub use setup::{Agent, ConfigOption, ModeState, Session, SetupError, StartMeta};
pub use state::{Change, EndReason, State, UnknownWord, next_state};
pub use update::{NoticeText, Update, UsageReport};
