//! One binary for all integration tests: the real bot, a local Discord, a scripted model.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::print_stderr, clippy::print_stdout)]
// The steps of a story are awaited one like the other, and poise awaits every command.
#![allow(clippy::unused_async)]

mod charter;
mod cli;
mod config;
mod crash;
mod database;
mod dice;
mod discord;
mod exec;
mod hooks;
mod layers;
mod lifecycle;
mod llm;
mod mcp;
mod not_run;
mod ops;
mod permission;
mod playground;
mod poll;
mod published;
mod questions;
mod referee;
mod resumes;
mod roles;
mod runs;
mod schedules;
mod sessions;
mod store;
mod team;
mod tools;
mod tools_seen;
mod tools_shell;
mod workspace;
mod world;
