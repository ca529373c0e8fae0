//! Chorus turns each Discord channel into an autonomous AI agent.
//!
//! # The way of a message
//!
//! ```text
//! Discord ─▶ discord::inbound ─▶ manager ─▶ agent: mailbox ▸ actor ▸ tool loop ─▶ llm
//!                                              │                     └────────▶ permission ▸ tools
//! Discord ◀─ discord::outbound ◀─ agent::Event ◀┘        store ◀─ every step, before it is shown
//! ```
//!
//! The modules are listed bottom up: each may name itself and those above its own line, never one below.
//! `docs/architecture.md` draws all modules.

pub use chorus_base::{clock, domain};

pub mod text;

pub mod drawing;
pub mod permission;

pub mod config;

pub mod charter;

pub mod exec;
pub mod llm;
pub mod store;
pub mod workspace;

pub mod mcp;
pub mod team;

pub mod tools;

pub mod agent;

pub mod manager;

pub mod discord;

pub mod daemon;

pub mod cli;
