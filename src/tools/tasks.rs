//! Commands that go on beside the turn: started, watched, hooked, ended.
//!
//! ```text
//! run_concurrent, run_background ─▶ Tasks::start ─▶ row ▸ supervisor ▸ Watch (one per task)
//!                                                                       │ reads the logs as they grow
//!                       TaskEvents ◀─ notices, reports, branches ◀──────┘ fires hooks, keeps row and mirror
//! ```
//!
//! The database is the truth about tasks; `running_tasks` in `agent.json` is a mirror of it. A task's output goes
//! straight to its log files, so it survives a crash of the daemon: [`Tasks::recover`] takes such tasks up again.

mod all;
mod armed;
mod event;
mod fire;
mod follow;
mod mirror;
mod recover;
mod start;
mod text;
mod view;
mod watch;

pub use all::{MOST_RUNNING, RECENT, TaskError, Tasks};
pub use event::{TaskEffect, TaskEvent, TaskEvents};
pub use follow::Tail;
pub use start::NewCommand;
pub(in crate::tools) use text::outcome;
pub use view::{HookView, TaskView};
