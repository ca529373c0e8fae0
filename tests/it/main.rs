//! One binary for all integration tests: the real bot, a local Discord, a scripted model.

mod cli;
mod clock;
mod config;
mod discord;
mod exec;
mod layers;
mod llm;
mod permission;
mod store;
mod tools;
