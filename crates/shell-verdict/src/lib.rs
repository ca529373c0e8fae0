//! Analyses a shell command line: what would run, what it writes, where it goes, and which parts of it cannot be
//! judged.
//!
//! ```text
//! command ─▶ scan (what bash reads otherwise) ─▶ tree (simple commands) ─▶ lexer (a second reader agrees)
//!                                                      │
//!                                                      └▶ wrappers (what they run) ─▶ plain (forms for deny)
//! ```
//!
//! Two questions are kept apart. *May a narrow pattern allow the line?* Only if it consists of plain commands;
//! otherwise [`Script::doubt`] says why not. *May it hide a command that a deny matches?* [`Script::hides`] answers
//! that.
//!
//! The crate does not decide: a verdict needs patterns, which the caller has. It runs nothing and reads no file.

// A test that cannot continue fails.
#![cfg_attr(test, allow(clippy::expect_used, clippy::panic, clippy::unwrap_used))]
#![warn(missing_docs)]

mod arguments;
mod destructive;
mod git;
mod input;
mod lexer;
mod options;
mod plain;
mod program_settings;
mod programs;
mod remote;
mod risk;
mod scan;
mod script;
mod scripts;
mod settings;
mod socat;
mod substitution;
mod tables;
mod tree;
mod within;
mod word;
mod wrappers;

pub use program_settings::{are_program_settings, hold_program_settings};
pub use risk::Risk;
pub use script::{Script, Simple};
pub use word::Word;
