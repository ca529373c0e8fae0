//! Shared by every part of Chorus: plain types, time, the removal of secrets, threads for long work.
//!
//! This crate lies below all others of the workspace. It does no IO, does not wait, and does not know the wire format of
//! Discord or of a provider.

// A test that cannot continue fails.
#![cfg_attr(test, allow(clippy::expect_used, clippy::panic, clippy::unwrap_used))]

pub mod clock;
pub mod discord_ids;
pub mod domain;
pub mod long;
pub mod redact;
mod shapes;
