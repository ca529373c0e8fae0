//! Members of teams: coding agents that speak the Agent Client Protocol, each in bubblewrap with a worktree of its own.
//!
//! ```text
//! launch      from an entry of config.json to what is started: file, environment, mounts, limits
//! session     a process that answers, and its open session
//! relay       the way to the models: the operator's key is added, budgets are asked, refusals are its own
//! stand_in    a relay that answers in the place of a model, in each format
//! check       whether a program asks before it runs a command, by what it does
//! ```
//!
//! The protocol and the states are `chorus-acp`, the mounts are `exec`. What may be spent is decided above, by whoever implements
//! [`Purse`]. No key of the operator is in a variable, a file or an argument of a program.

mod check;
mod form;
mod launch;
mod relay;
mod session;
mod sockets;
mod stand_in;

pub use check::{CheckError, Checked, check};
pub use launch::{LaunchError, MemberPlace, check_program, member_program};
pub use relay::{Asked, Done, Grant, ModelRule, NotGranted, Prompting, Purse, Relay, RelayParts};
pub use session::{MemberProcess, MemberSession, Opening, StartError};
