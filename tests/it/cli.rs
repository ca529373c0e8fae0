//! The program itself, started as people start it.

mod as_json;
mod backup;
mod bound;
mod charter;
mod conventions;
mod documented;
mod documented_commands;
mod exit_codes;
mod guide;
mod hostile_backups;
mod init;
mod mcp;
mod migrate_home;
mod permissions;
pub(crate) mod program;
mod restored;
mod secrets;
mod service;
pub(crate) mod terminal;
