//! Hooks on tasks: what to do when a task ends, prints something or takes too long.
//!
//! An agent describes them in plain language; a small model turns that into JSON ([`parse`]), which is checked like any
//! other hostile input. What cannot be used is refused with its reason, and when nothing is left a task gets the default:
//! one notice at its exit.

mod parse;
mod spec;
mod writer;

pub(in crate::tools) use parse::pattern;
pub use parse::{Parsed, parse};
pub use spec::{ExitFilter, HookAction, HookSpec, MATCH_DELAY, MIN_INTERVAL, Trigger};
pub use writer::{HookWriter, INSTRUCTIONS, Wish, write};
