//! The program itself, started as people start it.

mod exit_codes;
mod program;
